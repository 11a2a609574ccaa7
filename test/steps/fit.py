#!/usr/bin/env python3
"""Fits the weights of core/steps/levels_sure.c.

A logistic regression, by Newton's method, of whether answers were right on the features they were
made of.

usage: steps --outcomes --seeds 6 | fit.py

Fits variants with odd seeds; prints how often answers of the even ones are right, by confidence.
"""
import math
import sys

NAMES = ["CONSTANT", "TURNS", "COVERAGE", "ALIKE", "UNUSUAL", "LATTER", "OPTIMIZER", "ENOUGH"]
RIDGE = 1.0  # keeps weights bounded that depend on few answers
BANDS = [0.9, 0.7, 0.5, 0.0]


def read(lines):
    """Yields (seed, is right, features) of each answer."""
    for line in lines:
        if not line.startswith("outcome\t"):
            continue
        seed, right, turns, *rest = line.split("\t")[1:]
        yield int(seed), int(right), [1.0, math.log2(int(turns)), *map(float, rest)]


def sure(weights, features):
    return 1 / (1 + math.exp(-sum(w * x for w, x in zip(weights, features))))


def solve(a, b):
    """Solves by Gaussian elimination; the matrix is positive definite."""
    n = len(b)
    rows = [row[:] + [b[i]] for i, row in enumerate(a)]
    for i in range(n):
        for k in range(i + 1, n):
            factor = rows[k][i] / rows[i][i]
            rows[k] = [x - factor * y for x, y in zip(rows[k], rows[i])]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - sum(rows[i][k] * x[k] for k in range(i + 1, n))) / rows[i][i]
    return x


def fit(answers):
    n = len(NAMES)
    weights = [0.0] * n
    for _ in range(30):
        gradient = [-RIDGE * w for w in weights]
        hessian = [[RIDGE * (i == k) for k in range(n)] for i in range(n)]
        for _, right, x in answers:
            p = sure(weights, x)
            for i in range(n):
                gradient[i] += (right - p) * x[i]
                for k in range(n):
                    hessian[i][k] += p * (1 - p) * x[i] * x[k]
        weights = [w + d for w, d in zip(weights, solve(hessian, gradient))]
    return weights


def show(what, answers, weights):
    print(what)
    for most, least in zip([1.01, *BANDS], BANDS):
        rights = [right for _, right, x in answers if least <= sure(weights, x) < most]
        share = 100 * sum(rights) / len(rights) if rights else math.nan
        print(f"  {least:.1f} to {min(most, 1):.1f}: {share:5.1f} % right of {len(rights)}")


def main():
    answers = list(read(sys.stdin))
    odd, even = ([a for a in answers if a[0] % 2 == parity] for parity in (1, 0))
    weights = fit(odd)
    for name, weight in zip(NAMES, weights):
        print(f"#define WEIGHT_{name} {weight:.2f}")
    show("odd seeds, fitted", odd, weights)
    show("even seeds", even, weights)


if __name__ == "__main__":
    main()
