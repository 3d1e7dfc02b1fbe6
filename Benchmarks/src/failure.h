/* Ending a benchmark program that cannot go on. */
#ifndef FAILURE_H
#define FAILURE_H

/* Prints the formatted sentence, and errno's text where errno is set, on stderr; exits with 1. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
