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
    run apart "$err" "$@"
    complaint=$(cat "$err")
}
apart() { # file for stderr, command...
    local err=$1
    shift
    "$@" 2>"$err"
}

has() { # haystack, needle
    [[ "$1" == *"$2"* ]] || {
        echo "wanted: $2"
        echo "in: $1"
        return 1
    }
}

# The highest resident memory of a process so far, in KB; nothing if it has ended.
highest_memory() { # process
    sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status" 2>/dev/null
}

# Waits until a file has that many lines, or the process that writes it has ended.
until_lines() { # file, lines, process
    while kill -0 "$3" 2>/dev/null; do
        [ ! -e "$1" ] || [ "$(wc -l <"$1")" -lt "$2" ] || break
        sleep 0.05
    done
}

# Feeds standard input to a command and looks at it when it has answered with that many lines and
# waits for more input: sets $peak to all it ever needed, in KB, however slow we are to look.
fed_memory() { # lines, command...
    local n=$1 out="$BATS_TEST_TMPDIR/peak.out" pid
    shift
    rm -f "$BATS_TEST_TMPDIR/feed" "$out"
    mkfifo "$BATS_TEST_TMPDIR/feed"
    "$@" <"$BATS_TEST_TMPDIR/feed" >"$out" 2>/dev/null &
    pid=$!
    exec 7>"$BATS_TEST_TMPDIR/feed"
    cat >&7
    until_lines "$out" "$n" $pid
    peak=$(highest_memory $pid)
    exec 7>&-
    wait $pid
    [ "$(wc -l <"$out")" -eq "$n" ]
}

# Labelled texts that the tiny encoder can tell apart: four classes, each of three words
# of its own, $1 rows per class, with a header.
labelled() {
    awk -v rows="$1" 'BEGIN {
        n = split("where is my|order the a|b c d|x y z", words, "|")
        print "text\tlabel"
        for (i = 1; i <= rows; i++)
            for (c = 1; c <= n; c++) {
                split(words[c], w, " ")
                t = ""
                for (k = 0; k < 4; k++) {
                    s = (s * 7 + i * 3 + k * 5 + c) % 97
                    t = t (k ? " " : "") w[s % 3 + 1]
                }
                print t "\tclass" c
            }
    }'
}

# Texts of none of these classes.
unlabelled() {
    printf '%s\n' 'hello thank you hello' '9 8 7 6 5' '! ? ! ?' '( ) : /'
}

# ringfence train with the tiny encoder, small and quick
quick="--epochs 10 --batch 16 --known-rate 0.01 --encoder-rate 0.001 --head-steps 80 --negatives 32"
train() {
    "$rf" train --encoder "$tiny" $quick "$@"
}

# One JSON value per line or one in all, checked by another program; prints what the
# JavaScript expression says about the array v of values.
json_lines() { # file, expression
    node -e 'const v = require("fs").readFileSync(process.argv[1], "utf8").split("\n")
        .filter(l => l).map(l => JSON.parse(l)); console.log(String(eval(process.argv[2])))' "$@"
}
json_file() { # file, expression on v
    node -e 'const v = JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"));
        console.log(String(eval(process.argv[2])))' "$@"
}

# Runs a command in the background until the file "log", which it is asked to write with
# --log-json, shows $1 times the stage $2; then sends signal $3 and sets $code and
# $complaint.
interrupted() { # times, stage, signal, command...
    local times=$1 stage=$2 signal=$3
    shift 3
    rm -f log
    # a background job of a script ignores SIGINT unless told otherwise
    env --default-signal=INT,TERM,HUP "$@" --log-json log 2>stderr &
    local pid=$!
    while kill -0 $pid 2>/dev/null; do
        [ ! -e log ] || [ "$(grep -c "\"stage\": \"$stage\"" log)" -lt "$times" ] || break
        sleep 0.01
    done
    kill -"$signal" $pid || true
    code=0
    wait $pid || code=$?
    complaint=$(cat stderr)
    echo "$complaint"
}
