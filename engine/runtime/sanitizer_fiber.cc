// Sanitizer builds switch fibers with ucontext, which reports each switch to the sanitizer.
// Debian's libboost_context is built without that variant; this file defines the missing parts.
#if defined(BOOST_USE_UCONTEXT)

#include <boost/context/fiber.hpp>

namespace boost::context::detail {
namespace {

// The record of the thread itself, which runs when no fiber does.
struct ThreadRecord {
  fiber_activation_record main;
  fiber_activation_record* current = &main;
};

}  // namespace

fiber_activation_record*& fiber_activation_record::current() noexcept {
  thread_local ThreadRecord record;
  return record.current;
}

}  // namespace boost::context::detail

#endif
