/* word: see word.h. */
#include "base/word.h"

enum { LOWER = WORD_START | WORD_MORE | WORD_LOWER, UPPER = WORD_START | WORD_MORE, DIGIT = WORD_MORE };

const unsigned char word_bits[256] = {
    ['a'] = LOWER, ['b'] = LOWER, ['c'] = LOWER, ['d'] = LOWER, ['e'] = LOWER, ['f'] = LOWER, ['g'] = LOWER,
    ['h'] = LOWER, ['i'] = LOWER, ['j'] = LOWER, ['k'] = LOWER, ['l'] = LOWER, ['m'] = LOWER, ['n'] = LOWER,
    ['o'] = LOWER, ['p'] = LOWER, ['q'] = LOWER, ['r'] = LOWER, ['s'] = LOWER, ['t'] = LOWER, ['u'] = LOWER,
    ['v'] = LOWER, ['w'] = LOWER, ['x'] = LOWER, ['y'] = LOWER, ['z'] = LOWER, ['A'] = UPPER, ['B'] = UPPER,
    ['C'] = UPPER, ['D'] = UPPER, ['E'] = UPPER, ['F'] = UPPER, ['G'] = UPPER, ['H'] = UPPER, ['I'] = UPPER,
    ['J'] = UPPER, ['K'] = UPPER, ['L'] = UPPER, ['M'] = UPPER, ['N'] = UPPER, ['O'] = UPPER, ['P'] = UPPER,
    ['Q'] = UPPER, ['R'] = UPPER, ['S'] = UPPER, ['T'] = UPPER, ['U'] = UPPER, ['V'] = UPPER, ['W'] = UPPER,
    ['X'] = UPPER, ['Y'] = UPPER, ['Z'] = UPPER, ['_'] = UPPER, ['0'] = DIGIT, ['1'] = DIGIT, ['2'] = DIGIT,
    ['3'] = DIGIT, ['4'] = DIGIT, ['5'] = DIGIT, ['6'] = DIGIT, ['7'] = DIGIT, ['8'] = DIGIT, ['9'] = DIGIT,
};
