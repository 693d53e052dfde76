#!/usr/bin/env bash
# Runs the mock suite on the module built with AddressSanitizer (make asan). Memory bounds are not for this build.
# Usage: asan.sh PYTHON
set -euo pipefail

python=$1
sanitizer=$(cc -print-file-name=libasan.so)
if [ ! -e "$sanitizer" ]; then
    echo "error: the compiler's AddressSanitizer runtime is missing (Debian, Ubuntu: apt-get install gcc)" >&2
    exit 1
fi
export LD_PRELOAD=$sanitizer PYTHONMALLOC=malloc
# Python itself leaves objects to the end of the process.
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1
# A forked child's threads get stacks whose shadow still is that of threads which only the parent has: false alarms.
exec "$python" -m pytest -o pythonpath="build/asan ." -p no:cacheprovider --timeout 600 tests/mock \
    --ignore tests/mock/test_leaks.py --ignore tests/mock/test_arrow_consume.py --ignore tests/mock/test_arrow_produce.py \
    --ignore tests/mock/test_arrow_decode.py -k "not fork"
