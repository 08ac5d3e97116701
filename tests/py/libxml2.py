"""Canonical forms by direct calls of libxml2: all functions that xmlsec1 uses, with node sets and inclusive prefixes.

Each input line is a JSON object: `document`, `element` (its number in document order, from 1), `inclusive` (prefixes).
The form excludes elements with the local name `left-out`. Each answer is a line of JSON: `form`, or `refused`.
"""

import ctypes
import ctypes.util
import json
import sys

EXCLUSIVE = 1
# XML_PARSE_NOERROR, XML_PARSE_NOWARNING, XML_PARSE_NONET
QUIETLY = 32 | 64 | 2048
# xmlErrorLevel: an error, which is more than a warning
ERROR = 2

library = ctypes.CDLL(ctypes.util.find_library("xml2") or "libxml2.so.2")


class Error(ctypes.Structure):
    _fields_ = [
        ("domain", ctypes.c_int),
        ("code", ctypes.c_int),
        ("message", ctypes.c_char_p),
        ("level", ctypes.c_int),
    ]


class XPathObject(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("nodes", ctypes.c_void_p)]


def function(name, result, *parameters):
    found = getattr(library, name)
    found.restype, found.argtypes = result, parameters
    return found


pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
read_memory = function("xmlReadMemory", pointer, text, number, text, text, number)
free_document = function("xmlFreeDoc", None, pointer)
reset_error = function("xmlResetLastError", None)
last_error = function("xmlGetLastError", ctypes.POINTER(Error))
new_context = function("xmlXPathNewContext", pointer, pointer)
free_context = function("xmlXPathFreeContext", None, pointer)
evaluate = function("xmlXPathEvalExpression", ctypes.POINTER(XPathObject), text, pointer)
free_object = function("xmlXPathFreeObject", None, ctypes.POINTER(XPathObject))
canonical = function(
    "xmlC14NDocDumpMemory", number, pointer, pointer, number, ctypes.POINTER(text), number, ctypes.POINTER(pointer)
)
# The response names errors, so the terminal does not show them.
silent = ctypes.CFUNCTYPE(None, pointer, pointer)(lambda context, error: None)
function("xmlSetStructuredErrorFunc", None, pointer, type(silent))(None, silent)
free = ctypes.CFUNCTYPE(None, pointer).in_dll(library, "xmlFree")


def nodes(element):
    """Return the XPath expression of an element with its content, without the excluded elements."""
    stays = "[not(ancestor-or-self::*[local-name() = 'left-out'])]"
    below = f"(//*)[{element}]/descendant-or-self::"
    return f"{below}node(){stays} | {below}*{stays}/@* | {below}*{stays}/namespace::*".encode()


def form(document, element, inclusive):
    context = new_context(document)
    chosen = evaluate(nodes(element), context)
    prefixes = (text * (len(inclusive) + 1))(*(prefix.encode() for prefix in inclusive), None)
    out = pointer()
    length = canonical(document, chosen.contents.nodes, EXCLUSIVE, prefixes, 0, ctypes.byref(out))
    written = ctypes.string_at(out, length).decode() if length >= 0 else None
    free(out)
    free_object(chosen)
    free_context(context)
    return written


def answer(request):
    document = request["document"].encode()
    reset_error()
    parsed = read_memory(document, len(document), None, None, QUIETLY)
    error = last_error()
    if not parsed or (error and error.contents.level >= ERROR):
        refused = error.contents.message.decode(errors="replace").strip() if error else "no document"
        free_document(parsed)
        return {"refused": refused}
    written = form(parsed, request["element"], request["inclusive"])
    free_document(parsed)
    return {"refused": "no canonical form"} if written is None else {"form": written}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))))
