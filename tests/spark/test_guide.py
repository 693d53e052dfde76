"""The samples of the guide run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.spark.support import OURS, read, send
from tests.support import wire

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.timeout(300)]

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "spark.md"


def test_samples(spark, kafka, tmp_path):
    for name in ("ticks", "copies"):
        wire.create_topic(kafka.bootstrap_servers, name, 2, 1, {})
    send(kafka, "ticks", [json.dumps({"symbol": "A", "price": 1.5, "size": n}) for n in range(10)], key="A")
    samples = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    runnable = [each for each in samples if "spark" in each or "frame" in each]
    assert len(runnable) >= 7
    names = {"spark": spark}
    try:
        for each in runnable:
            code = each.replace("localhost:9092", kafka.bootstrap_servers).replace("/tmp", str(tmp_path))
            exec(compile(code, str(GUIDE), "exec"), names)
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
    assert [each.asDict() for each in spark.table("counts").collect()] == [{"symbol": "A", "count": 10}]
    copied = read(spark, OURS, kafka, subscribe="copies", kafka__isolation__level="read_committed")
    # Two batch writes of a thousand rows and the stream's ten.
    assert copied.count() == 2010
    assert names["ticks"].where("size = 3 and price = 1.5 and symbol = 'A' and _corrupt_record is null").count() == 1
