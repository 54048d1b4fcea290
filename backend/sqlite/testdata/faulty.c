/*
 * Loaded in front of the C library, it fails calls that SQLite makes on one
 * file. Go's own calls do not pass here.
 *
 *   FAULTY_FILE   how the name of the file ends
 *   FAULTY_CALLS  "sync", "write" or "sync,write"
 *   FAULTY_AFTER  how many of these calls succeed first; all later ones fail
 *   FAULTY_ERRNO  the number of the error; 0 for a SIGKILL instead
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int number(const char *name) {
	const char *text = getenv(name);
	return text ? atoi(text) : 0;
}

static int named(int fd) {
	char link[64], path[4096];
	const char *suffix = getenv("FAULTY_FILE");
	if (!suffix)
		return 0;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path - 1);
	if (n < (ssize_t)strlen(suffix))
		return 0;
	path[n] = 0;
	return strcmp(path + n - strlen(suffix), suffix) == 0;
}

static int fails(const char *call, int fd) {
	static int passed;
	const char *calls = getenv("FAULTY_CALLS");
	if (!calls || !strstr(calls, call) || !named(fd))
		return 0;
	if (__sync_fetch_and_add(&passed, 1) < number("FAULTY_AFTER"))
		return 0;
	if (number("FAULTY_ERRNO") == 0)
		kill(getpid(), SIGKILL);
	errno = number("FAULTY_ERRNO");
	return 1;
}

#define PASS(type, name, params, ...)                                     \
	type name params {                                                \
		static type(*real) params;                                \
		if (!real)                                                \
			real = (type(*) params)dlsym(RTLD_NEXT, #name);   \
		return fails(CALL, fd) ? -1 : real(__VA_ARGS__);          \
	}

#define CALL "sync"
PASS(int, fsync, (int fd), fd)
PASS(int, fdatasync, (int fd), fd)
#undef CALL
#define CALL "write"
PASS(ssize_t, write, (int fd, const void *p, size_t n), fd, p, n)
PASS(ssize_t, pwrite, (int fd, const void *p, size_t n, off_t at), fd, p, n, at)
PASS(ssize_t, pwrite64, (int fd, const void *p, size_t n, off64_t at), fd, p, n, at)
