"""A column of texts in, columns of answers out.

    python3 pandas_column.py support.rf messages.csv message answers.csv
"""

import sys

import pandas

import ringfence


def add_answers(frame: pandas.DataFrame, model: ringfence.Model, column: str) -> pandas.DataFrame:
    """The same rows with two more columns. A missing text has no answer."""
    known = frame[column].notna()
    answers = model.classify(frame.loc[known, column].astype(str), top=0)
    out = frame.copy()
    out.loc[known, "label"] = [a.label for a in answers]
    out.loc[known, "confidence"] = [a.confidence for a in answers]
    return out


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit("usage: pandas_column.py MODEL INPUT.csv COLUMN OUTPUT.csv")
    model_path, source, text_column, target = sys.argv[1:]
    answered = add_answers(pandas.read_csv(source), ringfence.load(model_path), text_column)
    answered.to_csv(target, index=False)
