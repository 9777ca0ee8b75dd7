#!/usr/bin/env python3
"""The numbers of optimizer_test.cpp, from the papers' formulas, in float64 and without a library.

A 3 x 4 matrix that decays and a vector of 4 that does not, five steps. Inputs are exact in fp32.
"""
import math

RATE, DECAY, BETA1, BETA2, EPSILON, SCALE, STEPS = 0.01, 0.1, 0.9, 0.95, 1e-8, 0.5, 5


def weights(count):
    return [((i * 7) % 11 - 5) / 8 for i in range(count)]


def gradients(count, step):
    return [SCALE * ((i * 5 + step * 3) % 13 - 6) / 4 for i in range(count)]


def adamw(count, decay):  # Loshchilov & Hutter 2019, algorithm 2
    w, m, v = weights(count), [0.0] * count, [0.0] * count
    for t in range(1, STEPS + 1):
        for i, g in enumerate(gradients(count, t)):
            m[i] = BETA1 * m[i] + (1 - BETA1) * g
            v[i] = BETA2 * v[i] + (1 - BETA2) * g * g
            m_hat, v_hat = m[i] / (1 - BETA1**t), v[i] / (1 - BETA2**t)
            w[i] -= RATE * (m_hat / (math.sqrt(v_hat) + EPSILON) + decay * w[i])
    return w


def clipped(u):  # at a root mean square of 1
    rms = math.sqrt(sum(x * x for x in u) / len(u))
    return [x / max(1, rms) for x in u]


def adafactor_matrix(rows, columns, decay):  # Shazeer & Stern 2018, algorithm 4
    w, r, c = weights(rows * columns), [0.0] * rows, [0.0] * columns
    for t in range(1, STEPS + 1):
        beta = 1 - t**-0.8
        g = gradients(rows * columns, t)
        square = [x * x + 1e-30 for x in g]
        for i in range(rows):  # sums here, means in the program: their ratio is the same
            r[i] = beta * r[i] + (1 - beta) * sum(square[i * columns + j] for j in range(columns))
        for j in range(columns):
            c[j] = beta * c[j] + (1 - beta) * sum(square[i * columns + j] for i in range(rows))
        u = [g[i * columns + j] / math.sqrt(r[i] * c[j] / sum(r))
             for i in range(rows) for j in range(columns)]
        w = [x - RATE * (du + decay * x) for x, du in zip(w, clipped(u))]
    return w


def adafactor_vector(count):  # algorithm 5
    w, v = weights(count), [0.0] * count
    for t in range(1, STEPS + 1):
        beta = 1 - t**-0.8
        g = gradients(count, t)
        v = [beta * a + (1 - beta) * (x * x + 1e-30) for a, x in zip(v, g)]
        u = [x / math.sqrt(a) for x, a in zip(g, v)]
        w = [x - RATE * du for x, du in zip(w, clipped(u))]
    return w


def show(name, numbers):
    print(f"{name}: {', '.join(f'{x:.9f}' for x in numbers)}")


show("adamw matrix", adamw(12, DECAY))
show("adamw vector", adamw(4, 0))
show("adafactor matrix", adafactor_matrix(3, 4, DECAY))
show("adafactor vector", adafactor_vector(4))
