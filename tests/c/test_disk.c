/* Files that are replaced at once, by many and with a disk that fails.  The linker sends the library's
 * calls to the functions here. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/disk.h"
#include "test.h"

static cyxla_error error = CYXLA_ERROR_INIT;
static char folder[] = "/tmp/cyxla-test-XXXXXX";

/* The path of a file in the folder, for the next few calls. */
static const char *path_of(const char *name) {
  static char path[4][512];
  static int next;
  next = (next + 1) % 4;
  snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
  return path[next];
}

/* ---- calls that fail ---- */

/* `call` fails the next time with `number`. */
static const char *failing_call = "";
static int failing_number;

static bool fails(const char *call) {
  if (strcmp(call, failing_call)) return false;
  failing_call = "";
  errno = failing_number;
  return true;
}

ssize_t __real_write(int descriptor, const void *data, size_t size);
ssize_t __real_pread64(int descriptor, void *data, size_t size, off_t offset);
int __real_fsync(int descriptor);
int __real_close(int descriptor);
void *__real_malloc(size_t size);
ssize_t __wrap_write(int descriptor, const void *data, size_t size);
ssize_t __wrap_pread64(int descriptor, void *data, size_t size, off_t offset);
int __wrap_fsync(int descriptor);
int __wrap_close(int descriptor);
int __wrap_fstat64(int descriptor, struct stat *status);
int __real_fstat64(int descriptor, struct stat *status);
void *__wrap_malloc(size_t size);

/* Few bytes at a time, as a disk may. */
ssize_t __wrap_write(int descriptor, const void *data, size_t size) {
  return fails("write") ? -1 : __real_write(descriptor, data, size < 7 ? size : 7);
}

ssize_t __wrap_pread64(int descriptor, void *data, size_t size, off_t offset) {
  if (fails("end")) return 0;
  return fails("pread") ? -1 : __real_pread64(descriptor, data, size < 5 ? size : 5, offset);
}

int __wrap_fsync(int descriptor) {
  return fails("fsync") ? -1 : __real_fsync(descriptor);
}

int __wrap_close(int descriptor) {
  const int result = __real_close(descriptor);
  return fails("close") ? -1 : result;
}

int __wrap_fstat64(int descriptor, struct stat *status) {
  return fails("fstat") ? -1 : __real_fstat64(descriptor, status);
}

void *__wrap_malloc(size_t size) {
  return fails("malloc") ? NULL : __real_malloc(size);
}

static void let_fail(const char *call, int number) {
  failing_call = call;
  failing_number = number;
}

/* ---- what is there ---- */

static int32_t replace(const char *path, const char *text) {
  const size_t half = strlen(text) / 2;
  const cyxla__span pieces[] = {
      {(uint8_t *)text, half}, {NULL, 0}, {(uint8_t *)text + half, strlen(text) - half}};
  return cyxla__disk_replace(path, pieces, 3, &error);
}

static const char *contents_of(const char *path) {
  static char text[1 << 12];
  cyxla__disk_file file;
  CHECK_OK(cyxla__disk_open(path, &file, &error), &error);
  CHECK(file.size < sizeof text);
  CHECK_OK(cyxla__disk_read(file, 0, (cyxla__span){(uint8_t *)text, (size_t)file.size}, &error),
           &error);
  cyxla__disk_close(file);
  text[file.size] = 0;
  return text;
}

/* Ends where a temporary file was left. */
static void check_no_rest(void) {
  glob_t found;
  CHECK_INT(glob(path_of(".cyxla-*"), 0, NULL, &found), GLOB_NOMATCH);
}

/* ---- reading ---- */

static void check_not_opened(const char *path, int32_t status, const char *part) {
  cyxla__disk_file file;
  CHECK_STATUS(cyxla__disk_open(path, &file, &error), status, &error);
  CHECK_CONTAINS(error.message, part);
}

static void opens_regular_files_only(void) {
  check_not_opened(path_of("missing"), CYXLA_NOT_FOUND, "No such file");
  check_not_opened(folder, CYXLA_INVALID_ARGUMENT, "it is a directory");
  check_not_opened("/dev/null", CYXLA_INVALID_ARGUMENT, "something special");
  CHECK_INT(mkfifo(path_of("pipe"), 0600), 0);
  check_not_opened(path_of("pipe"), CYXLA_INVALID_ARGUMENT, "something special");
  CHECK_INT(unlink(path_of("pipe")), 0);
  CHECK_INT(symlink("loop", path_of("loop")), 0);
  check_not_opened(path_of("loop"), CYXLA_INVALID_ARGUMENT, "can't open it");
  CHECK_INT(unlink(path_of("loop")), 0);
}

static void reports_reading_that_fails(void) {
  const char *path = path_of("read");
  char byte;
  const cyxla__span bytes = {(uint8_t *)&byte, 1};
  cyxla__disk_file file;
  CHECK_OK(replace(path, "some text"), &error);
  let_fail("fstat", EIO);
  CHECK_STATUS(cyxla__disk_open(path, &file, &error), CYXLA_UNAVAILABLE, &error);
  CHECK_OK(cyxla__disk_open(path, &file, &error), &error);
  CHECK_INT(file.size, 9);
  let_fail("pread", EIO);
  CHECK_STATUS(cyxla__disk_read(file, 0, bytes, &error), CYXLA_UNAVAILABLE, &error);
  let_fail("end", 0);
  CHECK_STATUS(cyxla__disk_read(file, 4, bytes, &error), CYXLA_DATA_LOSS, &error);
  CHECK_CONTAINS(error.message, "ends at 4");
  let_fail("pread", EINTR);
  CHECK_OK(cyxla__disk_read(file, 5, bytes, &error), &error);
  CHECK_INT(byte, 't');
  cyxla__disk_close(file);
}

static void check_mapped(const char *text) {
  cyxla__disk_file file;
  cyxla__span bytes;
  CHECK_OK(replace(path_of("mapped"), text), &error);
  CHECK_OK(cyxla__disk_open(path_of("mapped"), &file, &error), &error);
  CHECK_OK(cyxla__disk_map(file, &bytes, &error), &error);
  cyxla__disk_close(file);
  CHECK_INT(bytes.size, strlen(text));
  CHECK_BYTES(bytes.data, text, bytes.size);
  cyxla__disk_unmap(bytes);
}

static void maps(void) {
  check_mapped("some text");
  check_mapped("");
  cyxla__span bytes;
  CHECK_STATUS(cyxla__disk_map((cyxla__disk_file){-1, 1}, &bytes, &error), CYXLA_UNAVAILABLE,
               &error);
  CHECK_CONTAINS(error.message, "can't map it");
}

/* ---- replacing ---- */

static void replaces(void) {
  const char *path = path_of("file");
  CHECK_OK(replace(path, "the first text of the file"), &error);
  CHECK_TEXT(contents_of(path), "the first text of the file");
  CHECK_OK(replace(path, "another"), &error);
  CHECK_TEXT(contents_of(path), "another");
  CHECK_OK(replace(path, ""), &error);
  CHECK_TEXT(contents_of(path), "");
  check_no_rest();
}

static void gives_the_permissions_of_a_new_file(void) {
  static const mode_t masks[] = {022, 077, 0};
  for (size_t i = 0; i < 3; ++i) {
    struct stat found;
    const mode_t before = umask(masks[i]);
    CHECK_OK(replace(path_of("file"), "text"), &error);
    umask(before);
    CHECK_INT(__real_fstat64(open(path_of("file"), O_RDONLY), &found), 0);
    CHECK_INT(found.st_mode & 0777, 0644 & ~masks[i]);
  }
}

static void works_in_the_current_folder(void) {
  char before[512];
  CHECK(getcwd(before, sizeof before));
  CHECK_INT(chdir(folder), 0);
  CHECK_OK(replace("here", "text"), &error);
  CHECK_TEXT(contents_of("here"), "text");
  CHECK_INT(chdir(before), 0);
}

static void check_not_replaced(const char *path, int32_t status, const char *part) {
  CHECK_STATUS(replace(path, "other text"), status, &error);
  CHECK_CONTAINS(error.message, part);
  check_no_rest();
}

static void reports_what_stands_in_the_way(void) {
  check_not_replaced(path_of("no/file"), CYXLA_NOT_FOUND, "can't create a file in its directory");
  CHECK_OK(replace(path_of("plain"), ""), &error);
  check_not_replaced(path_of("plain/file"), CYXLA_NOT_FOUND, "can't create a file");
  CHECK_INT(mkdir(path_of("folder"), 0700), 0);
  check_not_replaced(path_of("folder"), CYXLA_INVALID_ARGUMENT, "can't replace it");
  char name[300];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = 0;
  check_not_replaced(path_of(name), CYXLA_INVALID_ARGUMENT, "can't replace it");
  let_fail("malloc", 0);
  check_not_replaced(path_of("file"), CYXLA_RESOURCE_EXHAUSTED, "out of memory");
}

/* To root nothing is forbidden: it has to be someone else for a while. */
static void reports_a_folder_that_may_not_be_written(void) {
  const bool is_root = !geteuid();
  CHECK_INT(chmod(folder, 0500), 0);
  if (is_root) CHECK_INT(seteuid(65534), 0);
  const int32_t status = replace(path_of("file"), "other text");
  if (is_root) CHECK_INT(seteuid(0), 0);
  CHECK_INT(chmod(folder, 0700), 0);
  CHECK_STATUS(status, CYXLA_PERMISSION_DENIED, &error);
  CHECK_CONTAINS(error.message, "can't create a file in its directory: Permission denied");
  check_no_rest();
}

static void keeps_the_old_file_where_writing_fails(void) {
  static const struct {
    const char *call;
    int number;
    int32_t status;
  } faults[] = {
      {"write", ENOSPC, CYXLA_RESOURCE_EXHAUSTED}, {"write", EDQUOT, CYXLA_RESOURCE_EXHAUSTED},
      {"write", EIO, CYXLA_UNAVAILABLE},           {"fsync", EIO, CYXLA_UNAVAILABLE},
      {"close", EIO, CYXLA_UNAVAILABLE},
  };
  CHECK_OK(replace(path_of("kept"), "old text"), &error);
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; ++i) {
    let_fail(faults[i].call, faults[i].number);
    check_not_replaced(path_of("kept"), faults[i].status, strerror(faults[i].number));
    CHECK_TEXT(contents_of(path_of("kept")), "old text");
  }
  let_fail("write", EINTR);
  CHECK_OK(replace(path_of("kept"), "new text"), &error);
  CHECK_TEXT(contents_of(path_of("kept")), "new text");
}

/* A real limit: of the size of files. */
static void keeps_the_old_file_where_there_is_no_space(void) {
  struct rlimit limit;
  CHECK_OK(replace(path_of("kept"), "old text"), &error);
  CHECK_INT(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const struct rlimit small = {.rlim_cur = 16, .rlim_max = limit.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  CHECK_INT(setrlimit(RLIMIT_FSIZE, &small), 0);
  const int32_t status = replace(path_of("kept"), "a text of more than sixteen bytes");
  CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
  CHECK_STATUS(status, CYXLA_RESOURCE_EXHAUSTED, &error);
  CHECK_CONTAINS(error.message, "File too large");
  CHECK_TEXT(contents_of(path_of("kept")), "old text");
  check_no_rest();
}

/* A file of that name may have been left by a process that was killed. */
static void passes_over_names_that_are_taken(void) {
  for (int i = 0; i < 200; ++i) {
    char name[64];
    snprintf(name, sizeof name, ".cyxla-%ld-%d.tmp", (long)getpid(), i);
    __real_close(open(path_of(name), O_CREAT | O_WRONLY, 0600));
  }
  CHECK_OK(replace(path_of("file"), "text"), &error);
  CHECK_TEXT(contents_of(path_of("file")), "text");
  for (int i = 0; i < 200; ++i) {
    char name[64];
    snprintf(name, sizeof name, ".cyxla-%ld-%d.tmp", (long)getpid(), i);
    unlink(path_of(name));
  }
  check_no_rest();
}

enum { WRITERS = 8, ROUNDS = 60 };

/* Writes texts of one letter, of different sizes. */
static void write_often(int writer) {
  char text[2000];
  for (int round = 0; round < ROUNDS; ++round) {
    const size_t size = (size_t)(1 + (writer * 977 + round * 131) % 1999);
    memset(text, 'a' + writer, size);
    text[size] = 0;
    CHECK_OK(replace(path_of("shared"), text), &error);
  }
  exit(0);
}

static void readers_see_whole_files(void) {
  CHECK_OK(replace(path_of("shared"), "z"), &error);
  fflush(NULL);
  for (int i = 0; i < WRITERS; ++i)
    if (!fork()) write_often(i);
  int running = WRITERS, status, reads = 0;
  while (running) {
    const char *text = contents_of(path_of("shared"));
    CHECK(*text);
    CHECK_INT(strspn(text, (char[]){*text, 0}), strlen(text));
    ++reads;
    if (waitpid(-1, &status, WNOHANG) <= 0) continue;
    CHECK_INT(status, 0);
    --running;
  }
  check_no_rest();
  fprintf(stderr, "  read %d times\n", reads);
}

int main(void) {
  CHECK(mkdtemp(folder));
  RUN(opens_regular_files_only);
  RUN(reports_reading_that_fails);
  RUN(maps);
  RUN(replaces);
  RUN(gives_the_permissions_of_a_new_file);
  RUN(works_in_the_current_folder);
  RUN(reports_what_stands_in_the_way);
  RUN(reports_a_folder_that_may_not_be_written);
  RUN(keeps_the_old_file_where_writing_fails);
  RUN(keeps_the_old_file_where_there_is_no_space);
  RUN(passes_over_names_that_are_taken);
  RUN(readers_see_whole_files);
  char command[sizeof folder + 8];
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_INT(system(command), 0);
}
