"""JAX: a small network trained by a jitted step, whose loss is read.

usage: jax_train.py STEPS
"""
import os
import sys

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402


def loss(weights, x):
    for w in weights:
        x = jnp.tanh(x @ w)
    return (x ** 2).mean()


@jax.jit
def train(weights, x):
    value, gradients = jax.value_and_grad(loss)(weights, x)
    return [w - 0.1 * g for w, g in zip(weights, gradients)], value


weights = [jax.random.normal(jax.random.PRNGKey(i), (256, 256)) * 0.05 for i in range(4)]
x = jax.random.normal(jax.random.PRNGKey(9), (64, 256))
total = 0.0
for _ in range(int(sys.argv[1])):
    weights, value = train(weights, x)
    total += float(value)
print(f"sum of losses {total:.2f}")
