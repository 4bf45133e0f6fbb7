// The loops of elements of 4 and 8 bytes, of an instruction set that is compiled in halves; see find_of() in loop.cc.
#define MINUEND_SECOND_HALF
#include "kernel/loop.cc"
