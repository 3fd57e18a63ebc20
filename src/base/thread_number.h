/* Small numbers for threads, which no two living threads share: with one, a thread has a place of its
 * own in a table, and needs neither lock nor atomic operation there. */
#ifndef CYXLA_BASE_THREAD_NUMBER_H
#define CYXLA_BASE_THREAD_NUMBER_H

/* As many threads at once have a number, from 1 to this; the others have to do without. */
#define CYXLA__THREAD_LIMIT 256

/* Initial-exec: one instruction instead of a call of the dynamic linker's.  A few bytes of the room for
 * static TLS are left for libraries that are opened late. */
extern _Thread_local unsigned cyxla__own_thread_number /* 0: none yet */
    __attribute__((tls_model("initial-exec")));

/* Gives the calling thread a number, which is free again when it ends. */
unsigned cyxla__thread_number_assign(void);

/* 0: none was free. */
static inline unsigned cyxla__thread_number(void) {
  const unsigned number = cyxla__own_thread_number;
  return number ? number : cyxla__thread_number_assign();
}

#endif
