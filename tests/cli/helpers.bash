# helpers.bash - what every CLI test starts with
root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
rf="$root/build/ringfence"
tiny="$root/tests/golden/tiny/encoder"

# For tests that need a real encoder from the cache.
need_encoder() {
    "$rf" encoder path "$1" >/dev/null 2>&1 || skip "encoder $1 is not in the cache"
}

# run, with stderr apart: $output is stdout, $complaint is stderr
run_apart() {
    local err="$BATS_TEST_TMPDIR/stderr"
    run bash -c '"$@" 2>"$0"' "$err" "$@"
    complaint=$(cat "$err")
}

has() { # haystack, needle
    [[ "$1" == *"$2"* ]] || {
        echo "wanted: $2"
        echo "in: $1"
        return 1
    }
}

# Runs a command, its output to $BATS_TEST_TMPDIR/peak.out; sets $peak to the highest
# resident memory seen, in KB.
peak_memory() {
    "$@" >"$BATS_TEST_TMPDIR/peak.out" 2>/dev/null &
    local pid=$! now
    peak=0
    while now=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status" 2>/dev/null) &&
        kill -0 $pid 2>/dev/null; do
        [ -z "$now" ] || peak=$now
        sleep 0.01
    done
    wait $pid
}
