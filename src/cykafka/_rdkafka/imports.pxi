# C and Python names that the parts share.

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_CheckSignals, PyErr_SetInterrupt
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.number cimport PyNumber_Index
from cpython.object cimport Py_EQ, Py_GE, Py_GT, Py_LE, Py_LT, Py_NE, PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.pythread cimport PyThread_get_thread_ident
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.math cimport ceil
from libc.stddef cimport size_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memmove, memset, strcmp, strdup, strlen

import atexit as _atexit
import collections.abc as _abc
import concurrent.futures as _futures
import decimal as _decimal
import logging as _logging
import numbers as _numbers
import os as _os
import sys as _sys
import threading as _threading
import weakref as _weakref


cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        PyObject *tp_dict
    void PyType_Modified(PyTypeObject *type)
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL
    void PyErr_SetObject(object type, object value)
    void PyErr_WriteUnraisable(object source)
    void PyObject_GC_UnTrack(PyObject *op)
    void PyObject_GC_Track(PyObject *op)
    int PyObject_GC_IsTracked(PyObject *op)
    int Py_REFCNT(PyObject *op)
