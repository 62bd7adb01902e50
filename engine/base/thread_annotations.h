// Macros for clang's thread-safety analysis (-Wthread-safety); empty for g++.
//
// Annotate every field that a mutex protects with AG_GUARDED_BY and every function whose caller
// must hold the mutex with AG_REQUIRES. `make lint` fails if an access does not hold the lock.
// Reference: https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#pragma once

#ifdef __clang__
#define AG_THREAD_ANNOTATION(attribute) __attribute__((attribute))
#else
#define AG_THREAD_ANNOTATION(attribute)
#endif

// For types.
#define AG_CAPABILITY(name) AG_THREAD_ANNOTATION(capability(name))
#define AG_SCOPED_CAPABILITY AG_THREAD_ANNOTATION(scoped_lockable)

// For fields. AG_PT_GUARDED_BY: the mutex protects the object that the pointer points to.
#define AG_GUARDED_BY(mutex) AG_THREAD_ANNOTATION(guarded_by(mutex))
#define AG_PT_GUARDED_BY(mutex) AG_THREAD_ANNOTATION(pt_guarded_by(mutex))

// For functions. AG_EXCLUDES: the caller must not hold the mutex.
#define AG_REQUIRES(...) AG_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define AG_REQUIRES_SHARED(...) AG_THREAD_ANNOTATION(requires_shared_capability(__VA_ARGS__))
#define AG_EXCLUDES(...) AG_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define AG_ACQUIRE(...) AG_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define AG_ACQUIRE_SHARED(...) AG_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define AG_RELEASE(...) AG_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define AG_RELEASE_SHARED(...) AG_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define AG_TRY_ACQUIRE(...) AG_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define AG_ASSERT_HELD(...) AG_THREAD_ANNOTATION(assert_capability(__VA_ARGS__))
