#!/bin/sh
# demo.sh - what the encoder sees in the sample: tokens, features, nearest neighbours
set -eu
cd "$(dirname "$0")/.."
rf=build/ringfence
sample=examples/support
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$rf" encoder get minilm

echo
echo "1. Words become pieces that the encoder knows:"
head -n 3 "$sample/sentences.txt" | while IFS= read -r sentence; do
    echo "   $sentence"
    printf '%s\n' "$sentence" | "$rf" tokenize --tokens | sed 's/^/     /'
done

echo
echo "2. Each text becomes 384 features. The closest of 1,144 labelled sample texts,"
echo "   by the angle between the features (1.00: the same direction):"
echo
tail -n +2 "$sample/train.tsv" >"$work/train"
cut -f1 "$work/train" >"$work/texts"
"$rf" embed "$work/texts" >"$work/known"
awk "NR % 3 == 1 || NR > 18" "$sample/sentences.txt" >"$work/sentences"
"$rf" embed "$work/sentences" >"$work/asked"
paste "$work/train" "$work/known" >"$work/all"
paste "$work/sentences" "$work/asked" >"$work/questions"
awk -F '\t' '
    function norm(from,   i, s) { for (i = from; i <= NF; i++) s += $i * $i; return sqrt(s) }
    FNR == NR { # the questions first: text, features
        n++; text[n] = $1; len = norm(2); width = NF - 1
        for (i = 1; i <= width; i++) q[n, i] = $(i + 1) / len
        next
    }
    { # then the labelled texts: text, label, features
        len = norm(3)
        for (j = 1; j <= n; j++) {
            dot = 0
            for (i = 1; i <= width; i++) dot += q[j, i] * $(i + 2)
            dot /= len
            if (dot > best[j]) { best[j] = dot; label[j] = $2; near[j] = $1 }
        }
    }
    END {
        for (j = 1; j <= n; j++)
            printf "   %s\n     %.2f  %s: %s\n", text[j], best[j], label[j], near[j]
    }' "$work/questions" "$work/all"

cat <<'TEXT'

Look at the last ones: the nearest label is always *some* label, however far away it is.
That is what ringfence is for: to say "open" there.

Next:  build/ringfence embed --help       features of your own texts
       build/ringfence encoder list       other encoders
       make test                          the whole suite
TEXT
