"""Messages as bytes, and back.

A message is made of None, truth values, numbers, text, tuples, lists, named tuples and arrays. Each is a letter and
what it says; numbers are as in memory, so both ends must have the same byte order and size of a word:

    N T F                None, True, False
    i d                  a whole number of 64 bits, a double
    s  length  text      text in UTF-8
    ( [  count  things   a tuple, a list
    n  length  class  count  things
                         a named tuple, with the pickle of its class
    a  description  numbers
                         an array: its type, its number of axes and its shape; then its content
    A  description       a large array, whose content follows the message; those of all large arrays do in their order
    p  length  pickle    anything else

Pickles of arrays and named tuples say the same, but are made and read by a good deal of Python, which takes long for
somebody who does it rarely: what it needs is in no cache by then. (Measured in a fit on two cores, whose workers had
multiplied meanwhile: 70 microseconds for a reply of a few numbers, where a loop of it takes 12 each.)
"""

import pickle

import numpy as np

from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.float cimport PyFloat_Check, PyFloat_AS_DOUBLE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1

#: The length of a message, which is not counted by itself, comes first.
HEADER = sizeof(Py_ssize_t)

cdef object ndarray = np.ndarray
cdef object empty = np.empty
cdef object DOUBLE = np.dtype(np.float64)
#: Types of arrays whose content is all there is to them: truth values and numbers.
cdef str PLAIN = "biufc"
#: Named tuples and the pickles of their classes.
cdef dict names = {}
cdef dict classes = {}


cdef class Writer:
    cdef char* memory
    cdef Py_ssize_t used, size, large
    cdef list beside

    def __cinit__(self, Py_ssize_t large):
        self.large = large
        self.beside = []

    def __dealloc__(self):
        free(self.memory)

    cdef int put(self, const void* source, Py_ssize_t count) except -1:
        cdef Py_ssize_t size
        cdef char* memory
        if self.used + count > self.size:
            size = 2 * (self.used + count) + 512
            memory = <char*> realloc(self.memory, size)
            if memory == NULL:
                raise MemoryError()
            self.memory, self.size = memory, size
        memcpy(self.memory + self.used, source, count)
        self.used += count
        return 0

    cdef int letter(self, char which) except -1:
        return self.put(&which, 1)

    cdef int count(self, Py_ssize_t number) except -1:
        return self.put(&number, sizeof(Py_ssize_t))

    cdef int text(self, bytes content) except -1:
        self.count(PyBytes_GET_SIZE(content))
        return self.put(PyBytes_AS_STRING(content), PyBytes_GET_SIZE(content))

    cdef int things(self, object several) except -1:
        self.count(len(several))
        for each in several:
            self.write(each)
        return 0

    cdef int write(self, object thing) except -1:
        cdef double real
        cdef long long whole
        cdef int overflow = 0
        kind = type(thing)
        if thing is None:
            return self.letter(b"N")
        if kind is bool:
            return self.letter(b"T" if thing else b"F")
        if PyFloat_Check(thing):  # one of NumPy is one, too, and arrives as one of Python
            real = PyFloat_AS_DOUBLE(thing)
            self.letter(b"d")
            return self.put(&real, sizeof(double))
        if kind is int:
            whole = PyLong_AsLongLongAndOverflow(thing, &overflow)
            if overflow == 0:
                self.letter(b"i")
                return self.put(&whole, sizeof(long long))
        elif kind is str:
            self.letter(b"s")
            return self.text((<str> thing).encode("utf-8", "surrogatepass"))
        elif kind is tuple:
            self.letter(b"(")
            return self.things(thing)
        elif kind is list:
            self.letter(b"[")
            return self.things(thing)
        elif kind is ndarray and thing.dtype.kind in PLAIN:
            return self.array(thing)
        elif isinstance(thing, tuple) and hasattr(kind, "_fields"):
            self.letter(b"n")
            self.text(name_of(kind))
            return self.things(thing)
        self.letter(b"p")
        return self.text(pickle.dumps(thing, protocol=5))

    cdef int array(self, object thing) except -1:
        cdef Py_buffer view
        cdef Py_ssize_t axis
        if not thing.flags.c_contiguous:
            thing = thing.copy()
        PyObject_GetBuffer(thing, &view, PyBUF_C_CONTIGUOUS)
        try:
            self.letter(b"A" if view.len >= self.large else b"a")
            self.text(b"" if thing.dtype is DOUBLE else thing.dtype.str.encode())
            self.count(view.ndim)
            for axis in range(view.ndim):
                self.count(view.shape[axis])
            if view.len < self.large:
                return self.put(view.buf, view.len)
        finally:
            PyBuffer_Release(&view)
        # (Bytes of an array without elements cannot be had by a cast, but such are not large.)
        self.beside.append(memoryview(thing).cast("B"))
        return 0


cdef bytes name_of(object kind):
    name = names.get(kind)
    if name is None:
        name = names[kind] = pickle.dumps(kind, protocol=5)
    return name


cdef class Reader:
    cdef const char* at
    cdef const char* end
    cdef list beside

    cdef const char* take(self, Py_ssize_t count) except NULL:
        cdef const char* begin = self.at
        if not 0 <= count <= self.end - begin:
            raise ValueError("a message ends too early")
        self.at = begin + count
        return begin

    cdef Py_ssize_t count(self) except -1:
        cdef Py_ssize_t number
        memcpy(&number, self.take(sizeof(Py_ssize_t)), sizeof(Py_ssize_t))
        if number < 0:
            raise ValueError(f"a message says that there are {number} of something")
        return number

    cdef bytes text(self):
        cdef Py_ssize_t length = self.count()
        return PyBytes_FromStringAndSize(self.take(length), length)

    cdef list things(self):
        return [self.read() for _ in range(self.count())]

    cdef object read(self):
        cdef double real
        cdef long long whole
        cdef Py_ssize_t length
        cdef char which = self.take(1)[0]
        if which == b"N":
            return None
        if which == b"T":
            return True
        if which == b"F":
            return False
        if which == b"d":
            memcpy(&real, self.take(sizeof(double)), sizeof(double))
            return real
        if which == b"i":
            memcpy(&whole, self.take(sizeof(long long)), sizeof(long long))
            return whole
        if which == b"s":
            length = self.count()
            return PyUnicode_DecodeUTF8(<char*> self.take(length), length, "surrogatepass")
        if which == b"(":
            return tuple(self.things())
        if which == b"[":
            return self.things()
        if which == b"n":
            kind = class_of(self.text())
            return tuple.__new__(kind, self.things())
        if which == b"a" or which == b"A":
            return self.array(which == b"A")
        if which == b"p":
            return pickle.loads(self.text())
        raise ValueError(f"a message has a {chr(<unsigned char> which)!r} where something should begin")

    cdef object array(self, bint is_beside):
        cdef Py_buffer view
        cdef bytes kind = self.text()
        shape = tuple([self.count() for _ in range(self.count())])
        result = empty(shape, np.dtype(kind.decode()) if kind else DOUBLE)
        if is_beside:
            self.beside.append(memoryview(result).cast("B"))
            return result
        PyObject_GetBuffer(result, &view, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)
        try:
            memcpy(view.buf, self.take(view.len), view.len)
        finally:
            PyBuffer_Release(&view)
        return result


cdef object class_of(bytes name):
    kind = classes.get(name)
    if kind is None:
        kind = classes[name] = pickle.loads(name)
    return kind


def encode(message, Py_ssize_t large):
    """The bytes of a message, after their number; and the arrays of so many bytes or more, which follow it."""
    cdef Writer writer = Writer(large)
    cdef Py_ssize_t length
    writer.count(0)
    writer.write(message)
    length = writer.used - sizeof(Py_ssize_t)
    memcpy(writer.memory, &length, sizeof(Py_ssize_t))
    return PyBytes_FromStringAndSize(writer.memory, writer.used), writer.beside


def length_of(const unsigned char[::1] header):
    """How many bytes a message has that begins like this."""
    cdef Py_ssize_t length
    if header.shape[0] != sizeof(Py_ssize_t):
        raise ValueError(f"the length of a message has {sizeof(Py_ssize_t)} bytes, not {header.shape[0]}")
    memcpy(&length, &header[0], sizeof(Py_ssize_t))
    return length


def decode(const unsigned char[::1] content):
    """A message, without its length; and the memory of its large arrays, which is yet to be filled."""
    cdef Reader reader = Reader()
    reader.beside = []
    if content.shape[0]:
        reader.at = <const char*> &content[0]
        reader.end = reader.at + content.shape[0]
    message = reader.read()
    if reader.at != reader.end:
        raise ValueError("a message goes on after its end")
    return message, reader.beside
