# Futures of deliveries, and the thread that serves a producer which nobody polls.

_background_threads = _weakref.WeakSet()


class DeliveryFuture(_futures.Future):
    """What `Producer.send` returns: a `concurrent.futures.Future` of the delivered `Message`.

    result() and exception() serve the producer's delivery reports while they wait, so that a program which only sends
    and waits needs no poll(); what other callbacks raise meanwhile goes to ``sys.unraisablehook``. Done callbacks run
    on the thread that serves the report. A message cannot be taken back: cancel() returns False.

    Args:
        producer: The producer; the future does not keep it alive.
    """

    def __init__(self, producer):
        super().__init__()
        self._producer = _weakref.ref(producer)
        self.set_running_or_notify_cancel()

    def result(self, timeout=None):
        """Return the delivered `Message`.

        Args:
            timeout: Seconds to wait; None for no limit.

        Raises:
            KafkaException: If the message was not delivered.
            concurrent.futures.TimeoutError: If time is over.
        """
        return super().result(self._serve(timeout))

    def exception(self, timeout=None):
        """Return why the message was not delivered, None if it was; arguments and time-out as `result`."""
        return super().exception(self._serve(timeout))

    def _serve(self, timeout):
        """Serve the producer until the future is done or time is over; returns the seconds left."""
        cdef int64_t deadline = deadline_after(-1 if timeout is None else max(<int64_t>(timeout * 1e6), 0))
        cdef Producer producer
        while not self.done():
            producer = self._producer()
            if producer is None or producer._closed or producer._background is not None:
                break
            left = time_left(deadline)
            if left == 0:
                break
            try:
                # In short pieces: another thread may be serving the report that this one waits for.
                producer.poll(min(left, 5000) / 1e6)
            except Exception as exc:
                if producer._closed:
                    break
                report_unraisable(exc, producer)
            producer = None
        return None if deadline < 0 else max(deadline - cyk_clock_us(), 0) / 1e6


class _Resolver:
    """The delivery callback of a future; one that is dropped uncalled tells the future so."""

    __slots__ = ("future",)

    def __init__(self, future):
        self.future = future

    def __call__(self, error, message):
        if error is None:
            self.future.set_result(message)
        else:
            exception = make_exception(error)
            exception.message = message
            self.future.set_exception(exception)

    def __del__(self):
        if not self.future.done():
            self.future.set_exception(KafkaException(make_error(
                RD_KAFKA_RESP_ERR__DESTROY, "The producer was dropped before the message was delivered")))


cdef object send_message(Producer producer, topic, dict arguments):
    """Do what `Producer.send` promises."""
    future = DeliveryFuture(producer)
    # By its name and with keywords, so that a subclass which serializes does so here too.
    producer.produce(topic, on_delivery=_Resolver(future), **arguments)
    return future


class _BackgroundThread(_threading.Thread):
    """Serves a producer until that is closed or dropped."""

    def __init__(self, producer):
        super().__init__(name=f"{producer.name}-poll", daemon=True)
        self._producer = _weakref.ref(producer)
        self.stopping = False
        _background_threads.add(self)

    def run(self):
        while not self.stopping:
            producer = self._producer()
            if producer is None or producer.closed:
                return
            try:
                _serve_in_background(producer)
            except Exception as exc:
                if producer.closed:
                    return
                report_unraisable(exc, producer)
            del producer


def _serve_in_background(Producer producer not None):
    """Serve what is there, then wait a moment for more; leaves wakeup() to those whom it is for."""
    cdef cyk_handle_t *handle = producer._enter()
    cdef int64_t wait_us = 2 * SLICE_US
    try:
        producer._serve_queue(handle)
        if not producer._closed:
            if producer._deadlines is not None:
                wait_us = producer._deadlines.limit(wait_us)
            with nogil:
                cyk_queue_wait(cyk_handle_queue(handle), wait_us, 0)
            producer._serve_meanwhile(handle)
    finally:
        producer._exit(handle)


@_atexit.register
def _stop_background_threads():
    # Before the clients are destroyed, which is registered earlier: a thread must not hold one at the very end.
    for thread in list(_background_threads):
        thread.stopping = True
    for thread in list(_background_threads):
        if thread.is_alive():
            thread.join(5)
