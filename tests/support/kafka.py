"""Real Apache Kafka (KRaft) servers on free loopback ports."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import shutil
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support import jars, wire
from tests.support.errors import ServerError
from tests.support.ports import LOOPBACK, free_ports
from tests.support.process import ServerProcess, WorkFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from typing_extensions import Self

_READY = "Kafka Server started"
_START_ATTEMPTS = 3
_JAVA_OPTIONS = (
    "-Xmx512m",
    "-XX:+UseSerialGC",
    # The first compiler alone: a server lives for seconds, and two cores are shared with the tests.
    "-XX:TieredStopAtLevel=1",
    # No file under the system's folder for temporary files that a killed server would leave there.
    "-XX:-UsePerfData",
    "-XX:+ExitOnOutOfMemoryError",
)
_LOG_CONFIGURATION = """\
<Configuration status="WARN">
  <Appenders>
    <Console name="console"><PatternLayout pattern="%d{ISO8601} %-5p [%t] %c{1}: %m%n"/></Console>
  </Appenders>
  <Loggers><Root level="INFO"><AppenderRef ref="console"/></Root></Loggers>
</Configuration>
"""


def default_properties(nodes: int) -> dict[str, str]:
    """Broker properties that make a cluster small, quick to react, and the same for every test.

    Args:
        nodes: Number of brokers.
    """
    factor = min(nodes, 3)
    in_sync = max(1, factor - 1)
    return {
        "auto.create.topics.enable": "false",
        "auto.leader.rebalance.enable": "false",
        "min.insync.replicas": f"{in_sync}",
        "offsets.topic.num.partitions": "4",
        "offsets.topic.replication.factor": f"{factor}",
        "transaction.state.log.num.partitions": "4",
        "transaction.state.log.replication.factor": f"{factor}",
        "transaction.state.log.min.isr": f"{in_sync}",
        "share.coordinator.state.topic.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": f"{factor}",
        "share.coordinator.state.topic.min.isr": f"{in_sync}",
        # A killed or frozen broker is noticed after this time, and can come back under its old id.
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
        "replica.lag.time.max.ms": "5000",
        "replica.fetch.backoff.ms": "200",
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "500",
        "group.consumer.min.session.timeout.ms": "1000",
        "group.consumer.session.timeout.ms": "6000",
        "group.consumer.min.heartbeat.interval.ms": "100",
        "group.consumer.heartbeat.interval.ms": "500",
        "group.consumer.assignment.interval.ms": "0",
        "group.consumer.regex.refresh.interval.ms": "10000",
        "group.share.min.session.timeout.ms": "1000",
        "group.share.session.timeout.ms": "6000",
        "group.share.min.heartbeat.interval.ms": "100",
        "group.share.heartbeat.interval.ms": "500",
        "group.share.assignment.interval.ms": "0",
        "group.share.min.record.lock.duration.ms": "1000",
        "group.share.record.lock.duration.ms": "1000",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
        "log.cleaner.dedupe.buffer.size": "4194304",
        "num.network.threads": "2",
        "num.io.threads": "4",
    }


@dataclass(frozen=True)
class Listener:
    """An additional listener of every node.

    Attributes:
        name: Listener name, in capitals.
        protocol: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
    """

    name: str
    protocol: str


@dataclass
class Node:
    """One broker and controller of a cluster.

    Attributes:
        id: Node id, from 1.
        process: Its server process.
        folder: Its folder, with configuration, data and log.
        ports: Port of each listener by name.
    """

    id: int
    process: ServerProcess
    folder: Path
    ports: dict[str, int]


class KafkaCluster:
    """A KRaft cluster of combined brokers and controllers, in a temporary folder of its own.

    A context manager: entering starts it, leaving ends every process and removes the folder. Not safe for use
    by several threads at the same time.

    Args:
        nodes: Number of nodes.
        properties: Broker properties that override those of `default_properties`.
        java_options: Options of the Java virtual machine, after (so over) the defaults for tests. A
            benchmark wants `["-XX:TieredStopAtLevel=4", "-Xmx2g"]`.
    """

    #: Listeners besides `PLAINTEXT`, which clients and brokers use, and `CONTROLLER`.
    listeners: tuple[Listener, ...] = ()

    def __init__(
        self,
        nodes: int = 3,
        *,
        properties: Mapping[str, str] | None = None,
        java_options: Sequence[str] = (),
    ) -> None:
        self.size = nodes
        # With a dash in front, Kafka's command for formatting would take it for an option.
        self.cluster_id = "k" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")[1:]
        self.nodes: dict[int, Node] = {}
        self._properties = dict(properties or {})
        self._java_options = [*_JAVA_OPTIONS, *java_options]
        self._archive: Path | None = None
        self._work: WorkFolder | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    def bootstrap_servers(self) -> str:
        """Addresses of the plain-text listeners, as `bootstrap.servers` takes them."""
        return self.addresses("PLAINTEXT")

    def addresses(self, listener: str) -> str:
        """Addresses of a listener on every node, separated by commas.

        Args:
            listener: Listener name.
        """
        return ",".join(f"{LOOPBACK}:{node.ports[listener]}" for node in self.nodes.values())

    @property
    def folder(self) -> Path:
        """The cluster's temporary folder.

        Raises:
            ServerError: It is not started.
        """
        if self._work is None:
            raise ServerError("the Kafka cluster is not started")
        return self._work.path

    def start(self) -> None:
        """Fetch the jars if need be, format the data folders and start every node.

        Raises:
            ServerError: It could not be started; the message names a log file that is kept.
        """
        if self._work is not None:
            raise ServerError("the Kafka cluster is started already")
        class_path = os.pathsep.join(map(str, jars.fetch(jars.KAFKA)))
        self._archive = self.class_archive(class_path)
        for attempt in range(_START_ATTEMPTS):
            try:
                self._start_fresh(class_path)
            except BaseException as error:
                taken = isinstance(error, ServerError) and "Address already in use" in str(error)
                self._keep_logs(error)
                self._discard()
                if not taken or attempt + 1 == _START_ATTEMPTS:
                    self.close()
                    raise
            else:
                return

    def close(self) -> None:
        """Kill every node and remove the folder with all data. Safe to call twice."""
        self._discard()

    def log_path(self, node: int = 1) -> Path:
        """Log file of a node."""
        return self._node(node).process.log

    def is_running(self, node: int = 1) -> bool:
        """Whether a node's process exists and is not frozen."""
        process = self._node(node).process
        return process.is_running and not process.paused

    def stop(self, node: int | None = None) -> None:
        """Shut a node (None: all) down in an orderly way; its data stays.

        Of three nodes all together it takes some seconds: the last ones wait for a controller.
        """
        chosen = self._chosen(node)
        for each in chosen:
            each.process.signal_stop()
        for each in chosen:
            each.process.stop()

    def kill(self, node: int | None = None) -> None:
        """Kill a node (None: all) with SIGKILL; its data stays."""
        for each in self._chosen(node):
            each.process.kill()

    def restart(self, node: int | None = None) -> None:
        """Start a node (None: all) again on its old ports and data; a running one is stopped in order first.

        Raises:
            ServerError: It did not start.
        """
        chosen = self._chosen(node)
        self.stop(node)
        for each in chosen:
            each.process.start()
        for each in chosen:
            each.process.wait_ready()

    def pause(self, node: int | None = None) -> None:
        """Freeze a node (None: all) with SIGSTOP: connections stay open and nothing is answered."""
        for each in self._chosen(node):
            each.process.pause()

    def resume(self, node: int | None = None) -> None:
        """Let a frozen node (None: all) go on."""
        for each in self._chosen(node):
            each.process.resume()

    @contextlib.contextmanager
    def paused(self, node: int | None = None) -> Iterator[None]:
        """Freeze a node (None: all) for the length of a `with` block."""
        self.pause(node)
        try:
            yield
        finally:
            self.resume(node)

    @contextlib.contextmanager
    def killed(self, node: int | None = None) -> Iterator[None]:
        """Kill a node (None: all) for the length of a `with` block, and start it again after that."""
        self.kill(node)
        try:
            yield
        finally:
            self.restart(node)

    def restore(self, timeout: float = 60.0) -> None:
        """Bring the cluster back after faults: every node runs and every replica is in sync.

        Does nothing when every node runs.

        Args:
            timeout: Seconds until every replica is in sync.

        Raises:
            ServerError: A node did not start, or replicas were not in sync in time.
        """
        disturbed = [node for node in self.nodes.values() if not self.is_running(node.id)]
        if not disturbed:
            return
        for node in disturbed:
            if node.process.paused:
                node.process.resume()
            else:
                node.process.start()
        for node in disturbed:
            node.process.wait_ready()
        self.wait_in_sync(timeout)

    def wait_in_sync(self, timeout: float = 60.0) -> None:
        """Wait until every node knows all brokers and every replica of every partition is in sync.

        Args:
            timeout: Seconds.

        Raises:
            ServerError: It was not so in time.
        """
        deadline = time.monotonic() + timeout
        for node in self.nodes.values():
            while not self._sees_all_in_sync(node):
                if time.monotonic() > deadline:
                    raise ServerError(f"{node.process.name}: replicas out of sync after {timeout:g} s; {self.folder}")
                time.sleep(0.05)

    def _sees_all_in_sync(self, node: Node) -> bool:
        try:
            metadata = wire.metadata(f"{LOOPBACK}:{node.ports['PLAINTEXT']}")
        except (OSError, wire.ProtocolError):
            return False
        return len(metadata.brokers) == self.size and all(
            partition.leader >= 0 and set(partition.in_sync) == set(partition.replicas)
            for topic in metadata.topics.values()
            for partition in topic.partitions
        )

    def class_archive(self, class_path: str) -> Path | None:
        """The archive of parsed classes that halves the time Kafka needs to start; made on first use.

        Args:
            class_path: Class path of Kafka.

        Returns:
            The archive, or None when this Java cannot make one.
        """
        launcher = jars.java()
        status = launcher.stat()
        key = f"{class_path} {launcher} {status.st_size} {status.st_mtime_ns}"
        archive = jars.cache_folder() / f"{jars.KAFKA.name}-{hashlib.sha256(key.encode()).hexdigest()[:8]}.jsa"
        if not archive.exists():
            with jars.cache_lock():
                if not archive.exists():
                    _make_class_archive(archive)
        return archive if archive.stat().st_size else None

    def format_arguments(self) -> list[str]:
        """Further arguments for formatting the data folders; none here."""
        return []

    def extra_properties(self, node: int) -> dict[str, str]:
        """Properties of a node that a subclass adds; none here.

        Args:
            node: Node id.
        """
        del node
        return {}

    def extra_java_options(self) -> list[str]:
        """Options of the Java virtual machine that a subclass adds; none here."""
        return []

    def _discard(self) -> None:
        for node in self.nodes.values():
            node.process.kill()
        self.nodes = {}
        if self._work is not None:
            self._work.close()
            self._work = None

    def _chosen(self, node: int | None) -> list[Node]:
        return list(self.nodes.values()) if node is None else [self._node(node)]

    def _node(self, node: int) -> Node:
        if node not in self.nodes:
            raise ServerError(f"the Kafka cluster has no running node {node}, only {sorted(self.nodes)}")
        return self.nodes[node]

    def _start_fresh(self, class_path: str) -> None:
        self._work = WorkFolder("cykafka-kafka-")
        names = ["PLAINTEXT", "CONTROLLER", *(listener.name for listener in self.listeners)]
        ports = free_ports(self.size * len(names))
        (self.folder / "log4j2.xml").write_text(_LOG_CONFIGURATION)
        for node_id in range(1, self.size + 1):
            folder = self.folder / f"node-{node_id}"
            (folder / "tmp").mkdir(parents=True)
            node_ports = dict(zip(names, ports[(node_id - 1) * len(names) :], strict=False))
            command = self._java(class_path, folder, "kafka.Kafka", "server.properties")
            log = folder / "server.log"
            process = ServerProcess(f"Kafka node {node_id}", command, log=log, ready=_READY, folder=folder)
            self.nodes[node_id] = Node(node_id, process, folder, node_ports)
        for node in self.nodes.values():
            lines = [f"{key}={value}\n" for key, value in self._node_properties(node).items()]
            (node.folder / "server.properties").write_text("".join(lines))
        self._format(class_path)
        for node in self.nodes.values():
            node.process.start()
        for node in self.nodes.values():
            node.process.wait_ready()
        for address in self.bootstrap_servers.split(","):
            wire.warm_up(address)

    def _java(self, class_path: str, folder: Path, main: str, *arguments: str) -> list[str]:
        options = [*self._java_options, *self.extra_java_options()]
        if self._archive is not None:
            options.append(f"-XX:SharedArchiveFile={self._archive}")
        options += [
            f"-Djava.io.tmpdir={folder / 'tmp'}",
            f"-Dlog4j2.configurationFile={self.folder / 'log4j2.xml'}",
        ]
        return [str(jars.java()), *options, "-cp", class_path, main, *arguments]

    def _node_properties(self, node: Node) -> dict[str, str]:
        def voters() -> Iterator[str]:
            for each in self.nodes.values():
                yield f"{each.id}@{LOOPBACK}:{each.ports['CONTROLLER']}"

        protocols = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT"}
        protocols |= {listener.name: listener.protocol for listener in self.listeners}
        return {
            "process.roles": "broker,controller",
            "node.id": f"{node.id}",
            "broker.rack": f"rack-{node.id}",
            "controller.quorum.voters": ",".join(voters()),
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listeners": ",".join(f"{name}://{LOOPBACK}:{port}" for name, port in node.ports.items()),
            "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
            "log.dirs": str(node.folder / "data"),
            **default_properties(self.size),
            **self.extra_properties(node.id),
            **self._properties,
        }

    def _format(self, class_path: str) -> None:
        arguments = ["format", "-t", self.cluster_id, "-c", "server.properties", *self.format_arguments()]
        formats = [
            ServerProcess(
                f"formatting the data folder of Kafka node {node.id}",
                self._java(class_path, node.folder, "kafka.tools.StorageTool", *arguments),
                log=node.process.log,
                ready="",
                folder=node.folder,
            )
            for node in self.nodes.values()
        ]
        try:
            for process in formats:
                process.start()
            for process in formats:
                process.wait_done()
        finally:
            for process in formats:
                process.kill()

    def _keep_logs(self, error: BaseException) -> None:
        if self._work is None or not isinstance(error, ServerError):
            return
        kept = jars.cache_folder() / "logs" / self.folder.name
        for node in self.nodes.values():
            if node.process.log.exists():
                kept_log = kept / node.process.log.relative_to(self.folder)
                kept_log.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(node.process.log, kept_log)
        error.args = (str(error).replace(str(self.folder), str(kept)),)


class KafkaServer(KafkaCluster):
    """A single Kafka node; see `KafkaCluster`.

    Args:
        properties: Broker properties that override those of `default_properties`.
        java_options: Options of the Java virtual machine, after the defaults for tests.
    """

    def __init__(self, *, properties: Mapping[str, str] | None = None, java_options: Sequence[str] = ()) -> None:
        super().__init__(1, properties=properties, java_options=java_options)


class _ArchivingServer(KafkaServer):
    def class_archive(self, class_path: str) -> None:
        del class_path


def _make_class_archive(archive: Path) -> None:
    partial = archive.with_suffix(f".{os.getpid()}.partial")
    try:
        with _ArchivingServer(java_options=[f"-XX:ArchiveClassesAtExit={partial}"]) as server:
            server.stop()
        # Without one, an empty file says that trying again is of no use.
        partial.touch()
        partial.replace(archive)
    finally:
        partial.unlink(missing_ok=True)
