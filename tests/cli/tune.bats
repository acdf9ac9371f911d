#!/usr/bin/env bats
# ringfence tune, train --tune, --settings and error budgets

load helpers

setup() {
    cd "$BATS_TEST_TMPDIR"
    labelled 40 >data.tsv
}

tune() {
    "$rf" tune --encoder "$tiny" $quick "$@"
}

@test "tune writes settings that train takes; train --tune does both" {
    run_apart tune data.tsv -o s.json --log-json log
    echo "$complaint"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    has "$complaint" "folds: 3 of 3"
    has "$complaint" "tuning     quick: 3 trainings that hid some of the classes"
    has "$complaint" "against the default"
    [ "$(json_file s.json 'Object.keys(v)')" = settings,tuning ]
    [ "$(json_file s.json 'v.tuning.folds + " " + v.tuning.candidates.map(c => c.name)')" = \
        "3 default,no ascent,blend 1" ]
    [ "$(json_file s.json 'v.tuning.candidates.filter(c => c.chosen).length')" = 1 ]
    [ "$(json_lines log 'v.filter(e => e.stage == "folds").map(e => e.fold)')" = 1,2,3 ]
    train data.tsv --quiet -o with.rf --settings s.json --dev-share 0.1
    run_apart train data.tsv -o tuned.rf --tune quick
    [ "$status" -eq 0 ]
    has "$complaint" "tuning     quick"
    "$rf" inspect tuned.rf >tuned.txt
    grep -q "^tuning     quick: 3 trainings" tuned.txt
    "$rf" inspect --json with.rf >with.json
    "$rf" inspect --json tuned.rf >tuned.json
    [ "$(json_file with.json 'JSON.stringify(v.settings)')" = "$(json_file tuned.json 'JSON.stringify(v.settings)')" ]
    tail -n +2 data.tsv | cut -f1 >texts
    unlabelled >>texts
    # the same answers: both place the fence by the same folds
    "$rf" predict with.rf --json texts >a
    "$rf" predict tuned.rf --json texts >b
    cmp a b
    [ "$(json_file with.json v.calibration.from)" = pseudo-open ]
}

@test "the same settings for any number of threads; thorough tries more" {
    tune data.tsv --quiet -o 1.json --threads 1
    tune data.tsv --quiet -o 3.json --threads 3
    cmp 1.json 3.json
    tune data.tsv --quiet -o more.json --effort thorough
    [ "$(json_file more.json 'v.tuning.folds + " " + v.tuning.candidates.length')" = "6 8" ]
    [ "$(json_file more.json 'v.tuning.candidates.filter(c => c.folds == 6).length')" = 2 ]
}

@test "settings from a file are used; options override them" {
    echo '{"settings": {"ascent_steps": 3, "lambda": 0.5, "fence_reject": 1, "fence_offset": -2}}' >s.json
    train data.tsv --quiet -o m.rf --settings s.json --lambda 0.7
    "$rf" inspect --json m.rf >m.json
    [ "$(json_file m.json '[v.settings.open.ascent_steps, v.settings.open.lambda.toFixed(3), v.settings.open.fence_offset]')" = 3,0.700,-2 ]
}

@test "bad settings files are refused with their name, and nothing is trained" {
    bad() { # content, part of the complaint
        printf '%s' "$1" >bad.json
        run_apart train data.tsv -o m.rf --settings bad.json
        [ "$status" -eq 1 ]
        has "$complaint" "bad.json: $2"
        [ ! -e m.rf ]
    }
    bad '' "not valid JSON"
    bad '{"settings": {"blend": 0.5}' "not valid JSON"
    bad '[1]' "holds an array, wanted an object"
    bad '{"tuning": {}}' "settings is missing, wanted an object"
    bad '{"settings": {"blnd": 0.5}}' 'settings has a key "blnd", wanted only blend'
    bad '{"settings": {"blend": true}}' "settings.blend is a boolean, wanted a number"
    bad '{"settings": {"blend": 1.5}}' "settings.blend is 1.5, wanted 0 to 1"
    bad '{"settings": {}, "extra": 1}' 'has a key "extra"'
    run_apart train data.tsv -o m.rf --settings nowhere.json
    [ "$status" -ne 0 ]
    has "$complaint" nowhere.json
}

@test "a budget of false accepts: printed, stored in the model, the same bytes again" {
    run_apart train data.tsv -o m.rf --max-false-accept 5% --threads 1
    echo "$complaint"
    [ "$status" -eq 0 ]
    has "$complaint" "budget     at most 5 % of open texts accepted"
    has "$complaint" "from 160 texts of 4 classes, each hidden in turn"
    has "$complaint" "known texts given their class: "
    "$rf" inspect m.rf | grep -q "^budget     at most 5 % of open texts accepted"
    "$rf" inspect --json m.rf >m.json
    [ "$(json_file m.json 'v.summary.budget.expected_false_accept <= 0.05')" = true ]
    [ "$(json_file m.json 'v.summary.budget.classes.length')" = 4 ]
    [ "$(json_file m.json 'const b = v.summary.budget; b.interval[0] <= b.expected_false_accept && b.expected_false_accept <= b.interval[1]')" = true ]
    train data.tsv --quiet -o again.rf --max-false-accept 0.05 --threads 3
    cmp m.rf again.rf
    train data.tsv --quiet -o both.rf --max-false-accept 5% --max-false-reject 40% --tune quick
    "$rf" inspect --json both.rf >both.json
    [ "$(json_file both.json 'Object.keys(v.summary).includes("tuning") && v.summary.budget.max_false_reject')" = 0.4 ]
    # the budget places the fences: no word of another position
    [ "$(json_file both.json 'const t = v.summary.tuning; [t.fence, t.candidates.some(c => "fence_reject" in c), t.verdict.endsWith("; the budget places the fences")]')" = ",false,true" ]
    "$rf" inspect both.rf | sed -n '/^tuning/,/^budget/p' >both.txt
    [ "$(grep -c "the budget places the fences" both.txt)" -eq 1 ]
    [ "$(grep -c "fence_reject\|fence_offset" both.txt)" -eq 0 ]
    [ "$("$rf" eval both.rf data.tsv | grep -c '^promised   at most')" -eq 2 ]
}

@test "budgets that the data cannot support are refused" {
    run_apart train data.tsv -o m.rf --max-false-accept 1%
    [ "$status" -eq 2 ]
    has "$complaint" "a budget of 1 % of false accepts cannot be shown with these data: 160 texts"
    has "$complaint" "wanted 300, 140 are missing; the smallest that they support is --max-false-accept 1.88%"
    run_apart train data.tsv -o m.rf --max-false-reject 1%
    [ "$status" -eq 2 ]
    has "$complaint" "160 texts to hold out, wanted 300, 140 are missing"
    run_apart train data.tsv -o m.rf --max-false-accept 5% --method msp
    [ "$status" -eq 2 ]
    has "$complaint" "the fences of method msp cannot be moved"
    grep -v 'class[34]' data.tsv >two.tsv
    run_apart train two.tsv -o m.rf --max-false-accept 10%
    [ "$status" -eq 2 ]
    has "$complaint" "2 classes: hiding one would leave one"
    for share in 60% 0 -1% x 1%% '' '5 %' nan; do
        run_apart train data.tsv -o m.rf --max-false-accept "$share"
        [ "$status" -eq 2 ]
        has "$complaint" "--max-false-accept is \"$share\", wanted a share"
    done
    [ ! -e m.rf ]
}

@test "when nothing can be hidden, the settings stay" {
    grep -v 'class[34]' data.tsv >two.tsv
    run_apart tune two.tsv -o s.json
    [ "$status" -eq 0 ]
    has "$complaint" "tuning     not done; 2 classes: hiding one would leave one; the settings stay as they were"
    [ "$(json_file s.json 'v.tuning.why_not')" = "2 classes: hiding one would leave one" ]
    train two.tsv --quiet -o a.rf --settings s.json
    run_apart train two.tsv -o b.rf --tune quick
    [ "$status" -eq 0 ]
    has "$complaint" "tuning     not done"
}

@test "wrong usage of tune" {
    run_apart "$rf" tune
    [ "$status" -eq 2 ]
    has "$complaint" "tune: which data?"
    run_apart "$rf" tune data.tsv
    [ "$status" -eq 2 ]
    has "$complaint" "tune: no output file; wanted -o FILE"
    run_apart tune data.tsv -o data.tsv
    [ "$status" -eq 2 ]
    has "$complaint" "would overwrite"
    echo '{"settings": {}}' >base.json
    run_apart tune data.tsv -o base.json --settings base.json
    [ "$status" -eq 2 ]
    has "$complaint" "would overwrite"
    run_apart tune data.tsv -o -
    [ "$status" -eq 2 ]
    has "$complaint" "tune: settings cannot be written to standard output; wanted -o FILE"
    [ ! -e - ]
    run_apart tune data.tsv -o s.json --neighbours 5
    [ "$status" -eq 2 ]
    run_apart tune data.tsv -o s.json --effort much
    [ "$status" -eq 2 ]
    has "$complaint" "quick, thorough"
    run_apart tune data.tsv -o s.json --checkpoint ck
    [ "$status" -eq 2 ]
    run_apart tune data.tsv -o s.json --method msp
    [ "$status" -eq 2 ]
    has "$complaint" "method msp has no settings that tuning chooses"
    run_apart tune data.tsv -o no/such/dir/s.json
    [ "$status" -eq 1 ]
    [ ! -e s.json ]
    "$rf" tune --help all >help
    [ "$(awk 'length > 90' help | wc -l)" -eq 0 ]
    [ "$(grep -c "what is saved\|methods other than\|--textoir" help)" -eq 0 ]
    grep -q "^ *--fence-offset" help
}

@test "stopped: nothing is left behind" {
    interrupted 1 encode INT "$rf" tune data.tsv -o s.json --encoder "$tiny" $quick --epochs 100000 --patience 100000
    [ "$code" -eq 130 ]
    has "$complaint" "stopped; nothing was written"
    [ "$(ls)" = "$(printf 'data.tsv\nlog\nstderr')" ]
}

@test "a checkpoint records tuning and budget" {
    train data.tsv --quiet -o want.rf --tune quick
    train data.tsv --quiet -o m.rf --tune quick --checkpoint ck
    run_apart train data.tsv -o m.rf --checkpoint ck --resume --dev-share 0.1
    [ "$status" -eq 2 ]
    has "$complaint" "tuning and budgets"
    train data.tsv --quiet -o m.rf --tune quick --checkpoint ck --resume
    cmp want.rf m.rf
}
