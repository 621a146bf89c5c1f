/* The few things that the pool (_pool.h) asks of a system: threads, locks, counters that many may change, and a clock.
 * POSIX threads and C11 atomics; on Windows its own, as not every compiler there has those. */
#ifndef SMOOTHPERF_THREADS_H
#define SMOOTHPERF_THREADS_H

#include <stdint.h>

typedef void (*thread_body)(void); /* which never returns */

#if defined(_WIN32)

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

typedef volatile LONG64 shared_counter; /* read at once, as Windows here means one of 64 bits */
typedef SRWLOCK lock_t;
typedef CONDITION_VARIABLE condition_t;
#define LOCK_START SRWLOCK_INIT
#define CONDITION_START CONDITION_VARIABLE_INIT

/* Every change is a full barrier. */
static inline int64_t counter_add(shared_counter *counter, int64_t amount)
{
    return InterlockedExchangeAdd64(counter, amount);
}

static inline void counter_set(shared_counter *counter, int64_t value) { InterlockedExchange64(counter, value); }

static inline int64_t counter_value(shared_counter *counter)
{
    const int64_t value = *counter;
#if defined(_M_ARM64) || defined(__aarch64__)
    MemoryBarrier(); /* what is read later is as new as the counter; other processors do so by themselves */
#endif
    return value;
}

static inline void lock_begin(lock_t *lock) { InitializeSRWLock(lock); }

static inline void lock(lock_t *lock) { AcquireSRWLockExclusive(lock); }

static inline int lock_if_free(lock_t *lock) { return TryAcquireSRWLockExclusive(lock) != 0; }

static inline void unlock(lock_t *lock) { ReleaseSRWLockExclusive(lock); }

static inline void condition_begin(condition_t *condition) { InitializeConditionVariable(condition); }

static inline void condition_wait(condition_t *condition, lock_t *lock)
{
    SleepConditionVariableSRW(condition, lock, INFINITE, 0);
}

static inline void condition_tell_all(condition_t *condition) { WakeAllConditionVariable(condition); }

static inline void let_others_run(void) { SwitchToThread(); }

static inline int64_t nanoseconds_now(void)
{
    LARGE_INTEGER ticks, per_second;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&per_second);
    return (int64_t)(1e9 * ((double)ticks.QuadPart / (double)per_second.QuadPart));
}

static DWORD WINAPI thread_begin(LPVOID body)
{
    ((thread_body)(uintptr_t)body)();
    return 0;
}

/* Whether a thread was started; nobody waits for its end. */
static inline int thread_start(thread_body body)
{
    const HANDLE thread = CreateThread(NULL, 0, thread_begin, (LPVOID)(uintptr_t)body, 0, NULL);
    return thread && CloseHandle(thread);
}

/* There are no forks to hear of. */
static inline int hear_of_forks(void (*in_child)(void))
{
    (void)in_child;
    return 1;
}

#else

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

typedef atomic_int_least64_t shared_counter;
typedef pthread_mutex_t lock_t;
typedef pthread_cond_t condition_t;
#define LOCK_START PTHREAD_MUTEX_INITIALIZER
#define CONDITION_START PTHREAD_COND_INITIALIZER

static inline int64_t counter_add(shared_counter *counter, int64_t amount) { return atomic_fetch_add(counter, amount); }

static inline void counter_set(shared_counter *counter, int64_t value) { atomic_store(counter, value); }

static inline int64_t counter_value(shared_counter *counter) { return atomic_load(counter); }

static inline void lock_begin(lock_t *lock) { pthread_mutex_init(lock, NULL); }

static inline void lock(lock_t *lock) { pthread_mutex_lock(lock); }

static inline int lock_if_free(lock_t *lock) { return pthread_mutex_trylock(lock) == 0; }

static inline void unlock(lock_t *lock) { pthread_mutex_unlock(lock); }

static inline void condition_begin(condition_t *condition) { pthread_cond_init(condition, NULL); }

static inline void condition_wait(condition_t *condition, lock_t *lock) { pthread_cond_wait(condition, lock); }

static inline void condition_tell_all(condition_t *condition) { pthread_cond_broadcast(condition); }

static inline void let_others_run(void) { sched_yield(); }

static inline int64_t nanoseconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void *thread_begin(void *body)
{
    ((thread_body)(uintptr_t)body)();
    return NULL;
}

/* Whether a thread was started; nobody waits for its end. It leaves all signals to the threads of Python. */
static inline int thread_start(thread_body body)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0)
        return 0;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int started = pthread_create(&thread, &attributes, thread_begin, (void *)(uintptr_t)body) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

/* Whether the function will be called in every child that a fork makes. */
static inline int hear_of_forks(void (*in_child)(void)) { return pthread_atfork(NULL, NULL, in_child) == 0; }

#endif

/* A moment in which another thread of the same core may work. */
static inline void pause_briefly(void)
{
#if defined(_WIN32)
    YieldProcessor();
#elif defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

#endif
