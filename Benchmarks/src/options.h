/* Command lines made of `--name value` pairs. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdint.h>

/* The value behind `--name`, or `otherwise`. */
const char *option_text(int argc, char **argv, const char *name, const char *otherwise);

/* The same as a non-negative number; ends the program when it is none. */
uint64_t option_number(int argc, char **argv, const char *name, uint64_t otherwise);

/* Ends the program when an argument is not one of the names, which stand behind each other, a space after each. */
void options_check(int argc, char **argv, const char *names);

#endif
