/* Checks for tests: the first that does not hold prints both values and ends the process. */
#ifndef CYXLA_TEST_H
#define CYXLA_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What Meson takes for a skipped test. */
#define TEST_SKIPPED 77

#define TEST_FAIL(...)                              \
  do {                                              \
    fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
    fprintf(stderr, __VA_ARGS__);                   \
    fprintf(stderr, "\n");                          \
    exit(1);                                        \
  } while (0)

#define CHECK(condition)                                     \
  do {                                                       \
    if (!(condition)) TEST_FAIL("not true: %s", #condition); \
  } while (0)

#define CHECK_INT(found, expected)                                                         \
  do {                                                                                     \
    const long long found_ = (long long)(found), expected_ = (long long)(expected);        \
    if (found_ != expected_) TEST_FAIL("%s is %lld, not %lld", #found, found_, expected_); \
  } while (0)

#define CHECK_REAL(found, expected)                                                          \
  do {                                                                                       \
    const double found_ = (double)(found), expected_ = (double)(expected);                   \
    if (found_ != expected_) TEST_FAIL("%s is %.17g, not %.17g", #found, found_, expected_); \
  } while (0)

#define CHECK_TEXT(found, expected)                                     \
  do {                                                                  \
    const char *found_ = (found), *expected_ = (expected);              \
    if (strcmp(found_, expected_))                                      \
      TEST_FAIL("%s is \"%s\", not \"%s\"", #found, found_, expected_); \
  } while (0)

#define CHECK_CONTAINS(found, part)                                                               \
  do {                                                                                            \
    const char *found_ = (found), *part_ = (part);                                                \
    if (!strstr(found_, part_)) TEST_FAIL("%s is \"%s\", without \"%s\"", #found, found_, part_); \
  } while (0)

#define CHECK_BYTES(found, expected, size)                                                      \
  do {                                                                                          \
    const unsigned char *found_ = (const void *)(found), *expected_ = (const void *)(expected); \
    for (size_t i_ = 0; i_ < (size_t)(size); ++i_)                                              \
      if (found_[i_] != expected_[i_])                                                          \
        TEST_FAIL("byte %zu of %s is %02x, not %02x", i_, #found, found_[i_], expected_[i_]);   \
  } while (0)

/* A status, and the message with it where they differ. */
#define CHECK_STATUS(found, expected, error)                                             \
  do {                                                                                   \
    const int found_ = (found), expected_ = (expected);                                  \
    if (found_ != expected_)                                                             \
      TEST_FAIL("%s is %d %s, not %d %s: %s", #found, found_, cyxla_status_name(found_), \
                expected_, cyxla_status_name(expected_), (error)->message);              \
    if (found_) CHECK_INT((error)->code, found_);                                        \
  } while (0)

#define CHECK_OK(found, error) CHECK_STATUS(found, CYXLA_OK, error)

/* Runs a test function and says so. */
#define RUN(test)                   \
  do {                              \
    fprintf(stderr, "%s\n", #test); \
    test();                         \
  } while (0)

#endif
