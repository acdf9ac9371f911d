#!/usr/bin/env python3
"""What small data does to the defaults: misspelt texts, open examples, error budgets.

usage: small_data.py [--program FILE] --data DIR --work DIR [--sets LIST] [--seeds LIST] [--median N] [--part dev|test]
                     [--alike N] [--train OPTIONS] plain|noise|open|budget

Each draw makes half of the classes of a set known and gives class c round(exp(Normal(ln MEDIAN, 0.9))) training
rows, 2 to 90. A model is trained on them with the program's defaults (and OPTIONS) and tested on a whole file of
the set, whose other classes are open. With --alike N the rows of a class are not drawn at random but are those nearest,
by the frozen encoder, to 1/N as many of its texts: variants of a few sentences, as people collect them.

plain   accuracy, F1, AUROC, calibration error, known texts called open and open texts let in
noise   accuracy, F1 and AUROC on the file as it is and with misspelt words, missing spaces, upper case and emoji,
        with and without --no-spelling
open    the same with 0, 20, 100 and 1,000 open rows (--open-texts), from the training rows of half of the hidden
        classes; only the other half counts as open in the test
budget  --max-false-accept and --max-false-reject of 5 and 10 %: whether what happened lies within the interval

Prints one line of tab-separated figures per model and test. Needs Python 3 and nothing else.
"""
import argparse, array, csv, json, math, os, random, struct, subprocess, sys

KEYS = {'q': 'wa', 'w': 'qes', 'e': 'wrd', 'r': 'etf', 't': 'ryg', 'y': 'tuh', 'u': 'yij', 'i': 'uok', 'o': 'ipl', 'p': 'ol',
        'a': 'qsz', 's': 'awdx', 'd': 'sefc', 'f': 'drgv', 'g': 'fthb', 'h': 'gyjn', 'j': 'hukm', 'k': 'jil', 'l': 'kop',
        'z': 'asx', 'x': 'zsdc', 'c': 'xdfv', 'v': 'cfgb', 'b': 'vghn', 'n': 'bhjm', 'm': 'njk'}


def rows_of(path):
    with open(path, encoding='utf8', newline='') as f:
        rows = list(csv.reader(f, delimiter='\t'))[1:]
    return [(' '.join(row[0].split()), row[1]) for row in rows]


def write_rows(path, rows):
    with open(path, 'w', encoding='utf8', newline='') as f:
        csv.writer(f, delimiter='\t', lineterminator='\n').writerows([('text', 'label'), *rows])


def features_of(args, name, texts):
    """Features of the encoder as it came, of unit length; kept in the work directory."""
    path = f'{args.work}/{name}-features.npy'
    if not os.path.exists(path):
        out = subprocess.run([args.program, 'embed', '--format', 'npy'], input=''.join(t + '\n' for t in texts).encode(),
                             capture_output=True, check=True).stdout
        with open(path + '.part', 'wb') as f:
            f.write(out)
        os.rename(path + '.part', path)
    with open(path, 'rb') as f:
        data = f.read()
    all_rows = array.array('f', data[10 + struct.unpack('<H', data[8:10])[0]:])
    width = len(all_rows) // len(texts)
    rows = [all_rows[i * width:(i + 1) * width] for i in range(len(texts))]
    return {t: [v / math.sqrt(sum(u * u for u in row)) for v in row] for t, row in zip(texts, rows)}


def nearest_to(seeds, texts, features, n):
    closeness = lambda t: max(sum(a * b for a, b in zip(features[t], features[s])) for s in seeds)
    return sorted(texts, key=closeness, reverse=True)[:n]


class Draw:
    def __init__(self, args, name, seed):
        r = random.Random(f'{name} {seed}')
        train, by_class = rows_of(f'{args.data}/{name}/train.tsv'), {}
        for text, label in train:
            by_class.setdefault(label, []).append(text)
        classes = sorted(c for c in by_class if c != 'oos')
        r.shuffle(classes)
        half = len(classes) // 2
        self.known, self.hidden, self.rows = set(classes[:half]), classes[half:], []
        features = features_of(args, name, [t for t, _ in train]) if args.alike else None
        for c in sorted(self.known):
            n = min(90, max(2, round(math.exp(r.gauss(math.log(args.median), 0.9)))))
            texts = r.sample(by_class[c], len(by_class[c]))
            if features:
                texts = nearest_to(texts[:max(1, round(n / args.alike))], texts, features, n)
            self.rows += [(t, c) for t in texts[:n]]
        self.test = rows_of(f'{args.data}/{name}/{args.part}.tsv')
        self.teaching = set(self.hidden[::2])  # hidden classes that open examples come from
        self.open_rows = [t for c in sorted(self.teaching) for t in by_class[c]]
        r.shuffle(self.open_rows)
        self.name, self.seed, self.args = name, seed, args

    def path(self, name):
        return f'{self.args.work}/{self.name}-{self.seed}-{name}'

    def train(self, name, *options):
        write_rows(self.path('train.tsv'), self.rows)
        model = self.path(name + '.rf')
        command = [self.args.program, 'train', self.path('train.tsv'), '-o', model, '--raw-tsv', '--quiet', '--map-points', '0',
                   *self.args.train.split(), *options]
        done = subprocess.run(command, capture_output=True, text=True)
        return (model, None) if done.returncode == 0 else (None, done.stderr.strip())

    def evaluate(self, model, rows):
        write_rows(self.path('test.tsv'), rows)
        out = subprocess.run([self.args.program, 'eval', model, self.path('test.tsv'), '--raw-tsv', '--json'],
                             capture_output=True, text=True, check=True).stdout
        return json.loads(out)


def slip(word, r):
    i, kind = r.randrange(len(word)), r.random()
    if kind < 0.3:
        return word[:i] + word[i + 1:]
    if kind < 0.5 and len(word) > 1:
        i = r.randrange(len(word) - 1)
        return word[:i] + word[i + 1] + word[i] + word[i + 2:]
    if kind < 0.75:
        return word[:i] + r.choice(KEYS.get(word[i].lower(), 'e')) + word[i + 1:]
    return word[:i] + word[i] + word[i:]


def noisy(text, r, kind, rate):
    words = text.split(' ')
    if kind == 'slips':
        return ' '.join(slip(w, r) if len(w) >= 3 and r.random() < rate else w for w in words)
    if kind == 'spaces':
        return words[0] + ''.join(('' if r.random() < rate else ' ') + w for w in words[1:])
    if kind == 'upper case':
        return text.upper()
    return text + ' ' + r.choice(['\U0001F642', '\U0001F621\U0001F621', '\U0001F64F', '!!!', '??', 'lol', 'plz'])


def report(draw, what, e, *more):
    f = lambda x: '-' if x is None else f'{x:.2f}'
    print(draw.name, draw.seed, what, f(e['accuracy']), f(e['f1']), f(e['auroc']), f(e['calibration_error']), *more, sep='\t', flush=True)


def measure_plain(draw):
    model, why = draw.train('plain')
    if not model:
        sys.exit(why)
    e = draw.evaluate(model, draw.test)
    answers = subprocess.run([draw.args.program, 'predict', model], input=''.join(t + '\n' for t, _ in draw.test),
                             capture_output=True, text=True, check=True).stdout.splitlines()
    is_open = [a.split('\t')[0] == 'open' for a in answers]
    known = [o for o, (_, c) in zip(is_open, draw.test) if c in draw.known]
    others = [o for o, (_, c) in zip(is_open, draw.test) if c not in draw.known]
    report(draw, 'plain', e, f'{100 * sum(known) / len(known):.1f}', f'{100 - 100 * sum(others) / len(others):.1f}')


def measure_noise(draw):
    for option in ('', '--no-spelling'):
        model, why = draw.train('noise', *option.split())
        if not model:
            sys.exit(why)
        for kind, rate in ((None, 0), ('slips', 0.15), ('slips', 0.3), ('spaces', 0.2), ('upper case', 1), ('emoji', 1)):
            r = random.Random(f'{draw.seed} {kind} {rate}')
            rows = [(noisy(t, r, kind, rate), c) for t, c in draw.test] if kind else draw.test
            report(draw, f'{kind or "clean"} {rate or ""}'.strip(), draw.evaluate(model, rows), option or 'spelling')


def measure_open(draw):
    test = [(t, c) for t, c in draw.test if c not in draw.teaching]
    for n in (0, 20, 100, 1000):
        path = draw.path('open.txt')
        with open(path, 'w', encoding='utf8') as f:
            f.writelines(t + '\n' for t in draw.open_rows[:n])
        model, why = draw.train(f'open{n}', *(['--open-texts', path] if n else []))
        if not model:
            sys.exit(why)
        report(draw, f'{n} open rows', draw.evaluate(model, test))


def measure_budget(draw):
    for option in ('--max-false-accept', '--max-false-reject'):
        for share in ('5%', '10%'):
            model, why = draw.train('budget', option, share)
            if not model:
                print(draw.name, draw.seed, option, share, 'refused: ' + why.split('\n')[-1][:120], sep='\t', flush=True)
                continue
            e = draw.evaluate(model, draw.test)
            print(draw.name, draw.seed, option, share, json.dumps(e.get('budget')), sep='\t', flush=True)


def numbers(text):
    first, _, last = text.partition('-')
    return list(range(int(first), int(last) + 1)) if last else [int(x) for x in text.split(',')]


def main():
    p = argparse.ArgumentParser(usage=__doc__.replace('%', '%%'))
    p.add_argument('what', choices=('plain', 'noise', 'open', 'budget'))
    p.add_argument('--program', default='build/ringfence')
    p.add_argument('--data', required=True)
    p.add_argument('--work', required=True)
    p.add_argument('--sets', default='banking,oos,stackoverflow')
    p.add_argument('--seeds', default='0')
    p.add_argument('--median', type=float, default=10)
    p.add_argument('--part', default='test')
    p.add_argument('--alike', type=float, default=0)
    p.add_argument('--train', default='')
    args = p.parse_args()
    os.makedirs(args.work, exist_ok=True)
    for name in args.sets.split(','):
        for seed in numbers(args.seeds):
            {'plain': measure_plain, 'noise': measure_noise, 'open': measure_open, 'budget': measure_budget}[args.what](Draw(args, name, seed))


if __name__ == '__main__':
    main()
