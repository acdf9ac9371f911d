#!/usr/bin/env bats
# Training that is killed again and again, at random moments, ends in the same model

load ../cli/helpers

# Enough epochs and heads that a kill finds something finished and something not.
make_data() {
    labelled 10
    for class in $(seq 40); do
        for i in 1 2 3; do printf 'fence %s text %s\tmore%s\n' "$class" "$i" "$class"; done
    done
}

# Waits until the training $pid has logged that many events, or has ended, and then for up to 30 ms
# more, so that the kill comes before, while and after something is written.
let_run() { # events
    local events=()
    while kill -0 $pid 2>/dev/null; do
        [ ! -e log ] || mapfile -t events <log
        [ ${#events[@]} -lt "$1" ] || break
        sleep 0.005
    done
    sleep "0.0$(printf %02d $((RANDOM % 30)))"
}

met() {
    [ "$(grep -c '^known$' stages)" -ge 5 ] && [ "$(grep -c '^open$' stages)" -ge 5 ]
}

@test "sixty times kill -9, at all stages: the model is the same to the last byte" {
    cd "$BATS_TEST_TMPDIR"
    make_data >data.tsv
    train=("$rf" train data.tsv --encoder "$tiny" --epochs 30 --patience 30 --batch 4 --known-rate 0.01
        --head-steps 12 --negatives 64 --quiet)
    "${train[@]}" -o want.rf --threads 2 --log-json log
    [ "$(wc -l <log)" -ge 40 ]
    RANDOM=20221208
    kills=0 finished=0
    # Sixty, and more until both stages have been met often enough.
    : >stages
    while [ $kills -lt 60 ] || { [ $kills -lt 300 ] && ! met; }; do
        rm -f got.rf log
        "${train[@]}" -o got.rf --checkpoint ck --resume --log-json log --threads $((1 + RANDOM % 2)) &
        pid=$!
        let_run $((RANDOM % 12)) # of about 44
        code=0
        kill -9 $pid 2>/dev/null || true
        wait $pid 2>/dev/null || code=$?
        if [ $code -eq 137 ]; then
            kills=$((kills + 1))
            tail -n 1 log 2>/dev/null | sed -n 's/^{"stage": "\([a-z]*\)".*/\1/p' >>stages
            # the model is there completely or not at all
            [ ! -e got.rf ] || cmp want.rf got.rf
        else
            [ $code -eq 0 ]
            cmp want.rf got.rf
            finished=$((finished + 1))
            rm -rf ck
        fi
    done
    "${train[@]}" -o got.rf --checkpoint ck --resume
    cmp want.rf got.rf
    echo "$kills kills, $finished trainings finished in between; the last event was of stage:"
    sort stages | uniq -c
    met
}
