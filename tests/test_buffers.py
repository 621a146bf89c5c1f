"""Memory that is used again."""

import pickle
import threading

import numpy as np

from smoothperf.buffers import Buffers, Scratch


def test_what_is_given_back_is_used_again():
    buffers = Buffers(5)
    first, second = buffers.take(), buffers.take()
    assert first.shape == second.shape == (5,)
    assert not np.shares_memory(first, second)
    buffers.give(first)
    assert buffers.take() is first
    assert buffers.take() is not second


def test_views_are_not_taken_for_vectors():
    buffers = Buffers(3)
    whole = np.zeros(6)
    buffers.give(whole[:3])
    assert not np.shares_memory(buffers.take(), whole)


def test_scratch_is_the_same_memory_in_a_thread_and_another_in_the_next():
    scratch = Scratch()
    mine = scratch.take(4)
    assert np.shares_memory(mine, scratch.take(3))
    found = []
    thread = threading.Thread(target=lambda: found.append(scratch.take(4)))
    thread.start()
    thread.join()
    assert not np.shares_memory(mine, found[0])
    assert pickle.loads(pickle.dumps(scratch)).take(2).shape == (2,)
