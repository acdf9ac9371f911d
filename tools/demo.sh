#!/bin/sh
# demo.sh - trains a classifier on the sample in examples/support, evaluates it, predicts,
# explains and writes a report. The model is kept; remove build/demo to train again.
set -eu
cd "$(dirname "$0")/.."
rf=build/ringfence
sample=examples/support
demo=build/demo
model=$demo/support.rf
mkdir -p "$demo"

"$rf" encoder get minilm

echo
echo "1. Train on 1,144 labelled texts from a support desk, 26 intents:"
echo "   \$ ringfence train $sample/train.tsv --dev $sample/dev.tsv -o $model"
if [ -e "$model" ]; then
    echo "   (already trained; to train again: rm -r $demo)"
else
    "$rf" train "$sample/train.tsv" --dev "$sample/dev.tsv" -o "$model"
fi

echo
echo "2. Evaluate on texts it has not seen, half of which belong to none of the intents:"
echo "   \$ ringfence eval $model $sample/test.tsv"
"$rf" eval "$model" "$sample/test.tsv" >"$demo/eval.txt"
sed -n '1,5s/^/   /p' "$demo/eval.txt"
echo "   (the full output is in $demo/eval.txt)"

echo
echo "3. Classify new texts. \"open\" means none of the intents:"
echo "   \$ ringfence predict $model $sample/sentences.txt"
"$rf" predict "$model" "$sample/sentences.txt" |
    paste - "$sample/sentences.txt" | awk -F '\t' '{ printf "   %-26s %s  %s\n", $1, $2, $3 }'

echo
echo "4. Explain: the reason for an answer, and the nearest training texts with distances:"
echo "   \$ echo \"can I bring my dog into the shop\" | ringfence predict $model --json"
echo "can I bring my dog into the shop" | "$rf" predict "$model" --json --top 2 | sed 's/^/   /'
echo "   \$ echo \"where is my parcel\" | ringfence predict $model --explain 3"
echo "where is my parcel" | "$rf" predict "$model" --explain 3 | sed 's/^/   /'

echo
echo "5. Write a report: one page, with a map of the classes and of the open texts:"
echo "   \$ ringfence report $model $sample/test.tsv -o $demo/report.html"
"$rf" report "$model" "$sample/test.tsv" --title "Support desk" -o "$demo/report.html"
echo "   $demo/report.html: open it in a browser"

cat <<TEXT

Next:  ringfence serve $model       a page to try it: http://127.0.0.1:8080
       ringfence inspect $model     what the model contains and how it was trained
       ringfence train YOURS.tsv -o yours.rf            a TSV with the columns text and label
       ringfence train --help                           formats, options, checkpoints
       examples/classify.c                              the same from C
       make test                                        the whole test suite
(The program is $rf; make install puts it into the PATH.)
TEXT
