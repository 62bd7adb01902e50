#include "runtime/unused_stack.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "runtime/runtime.h"

namespace agent_graph::runtime {
namespace {

// Touches 32 KiB of the stack and returns the address of a page among them. AddressSanitizer would
// keep the array elsewhere.
[[gnu::noinline, gnu::no_sanitize_address]] uintptr_t GoDeep() {
  volatile char room[32 * 1024];
  for (size_t i = 0; i < sizeof(room); i += 1024) room[i] = 1;
  const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return reinterpret_cast<uintptr_t>(&room[4096]) / page_bytes * page_bytes;
}

bool IsInMemory(uintptr_t page) {
  unsigned char state = 0;
  EXPECT_EQ(mincore(reinterpret_cast<void*>(page), 1, &state), 0) << strerror(errno);
  return (state & 1) != 0;
}

TEST(UnusedStack, IsReturnedWithoutTheFramesThatAreInUse) {
  Runtime runtime(RuntimeOptions{.threads = 1});
  ASSERT_TRUE(runtime.Start().ok());
  runtime.Spawn([] {
    volatile int in_use[256];
    for (int i = 0; i < 256; ++i) in_use[i] = i;
    const uintptr_t page = GoDeep();
    EXPECT_TRUE(IsInMemory(page));
    ReleaseUnusedStack();
    EXPECT_FALSE(IsInMemory(page));
    for (int i = 0; i < 256; ++i) EXPECT_EQ(in_use[i], i);
    EXPECT_EQ(GoDeep(), page);  // the stack can be used again
    EXPECT_TRUE(IsInMemory(page));
  });
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
}

TEST(UnusedStack, OfAThreadWithoutAFiberIsLeftAsItIs) {
  const uintptr_t page = GoDeep();
  ReleaseUnusedStack();
  EXPECT_TRUE(IsInMemory(page));
}

}  // namespace
}  // namespace agent_graph::runtime
