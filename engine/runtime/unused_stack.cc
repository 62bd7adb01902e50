#include "runtime/unused_stack.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "runtime/fiber.h"

namespace agent_graph::runtime {
namespace {

// Room for the frames of this function and of madvise below its caller's frame.
constexpr uintptr_t kFramesBytesMax = 512;

}  // namespace

void ReleaseUnusedStack() {
  const Fiber* const fiber = Fiber::Current();
  if (fiber == nullptr) return;
  static const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  const auto begin = reinterpret_cast<uintptr_t>(fiber->stack_begin);
  const uintptr_t end = (frame - kFramesBytesMax) / page_bytes * page_bytes;
  if (end > begin) madvise(fiber->stack_begin, end - begin, MADV_DONTNEED);
}

}  // namespace agent_graph::runtime
