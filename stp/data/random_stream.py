"""Random numbers that depend on nothing but their coordinates.

So neither the order in which clips are drawn, nor how they are dealt to workers, nor a resumed run
can change one.
"""

import numpy as np


def uniform(
    rows: np.ndarray, count: int, *, seed: int, stream: int = 0, epoch: int = 0
) -> np.ndarray:
    """Numbers in [0, 1) for each row.

    The generator is Philox with key (seed, stream) and a counter that starts at (0, 0, row, epoch).
    Its raw integers, unlike NumPy's distributions, are promised never to change.

    Args:
        rows: B numbers >= 0.
        count: numbers wanted for each.
        seed: chooses all numbers, >= 0.
        stream: separates uses that share a seed, >= 0.
        epoch: chooses other numbers in each epoch, >= 0.

    Returns:
        float64 (B, count).
    """
    generator = np.random.Philox(0)
    raw = np.empty((len(rows), count), np.uint64)
    for i, row in enumerate(rows):
        # Setting the state costs a third of a new generator.
        generator.state = {
            "bit_generator": "Philox",
            "state": {
                "counter": np.array([0, 0, row, epoch], np.uint64),
                "key": np.array([seed, stream], np.uint64),
            },
            "buffer": np.zeros(4, np.uint64),
            "buffer_pos": 4,
            "has_uint32": 0,
            "uinteger": 0,
        }
        raw[i] = generator.random_raw(count)
    return (raw >> np.uint64(11)) * 2.0**-53
