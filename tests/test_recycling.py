"""Vectors are used again only when nobody can see them any more."""

import threading

import numpy as np

from smoothperf.recycling import Recycler


def test_an_idle_vector_is_used_again():
    vectors = Recycler(5)
    for _ in range(10):
        vectors.take()[:] = 1.0
    assert len(vectors._vectors) == 1


def test_a_vector_in_use_is_never_handed_out():
    vectors = Recycler(4)
    held = [vectors.take() for _ in range(5)]
    assert len({id(vector) for vector in held}) == 5
    assert vectors.take().shape == (4,)
    address = held[2].ctypes.data
    held[2] = None
    assert vectors.take().ctypes.data == address


def holders():
    """Ways of seeing a vector without holding the vector itself."""
    yield lambda v: v[1:]
    yield lambda v: v[::2]
    yield lambda v: v.reshape(2, 2).T
    yield lambda v: v.view(np.int64)
    yield memoryview
    yield lambda v: np.frombuffer(memoryview(v))
    yield lambda v: {"inside": (v,)}
    yield lambda v: lambda: v[0]


def test_a_vector_that_can_still_be_seen_is_never_handed_out():
    for hold in holders():
        vectors = Recycler(4)
        first = vectors.take()
        address = first.ctypes.data
        holder = hold(first)
        del first
        assert vectors.take().ctypes.data != address
        del holder
        assert vectors.take().ctypes.data == address


def test_threads_never_share_a_vector():
    vectors = Recycler(8)
    wrong = []

    def work(mark):
        for _ in range(2000):
            first, second = vectors.take(), vectors.take()
            first[:] = mark
            second[:] = -mark
            if not ((first == mark).all() and (second == -mark).all()):
                wrong.append(mark)

    threads = [threading.Thread(target=work, args=(mark,)) for mark in (1.0, 2.0, 3.0, 4.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(vectors._vectors) <= 4 * len(threads)  # two, and two more while they are replaced
