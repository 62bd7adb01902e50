// Must not compile: the field list leaves out a member. The test "forgotten_field" expects the
// compiler's error.
#include <string>
#include <tuple>

#include "state/pack/fields.h"

namespace agent_graph::state {

struct Forgetful {
  int packed = 0;
  int forgotten = 0;
};
template <pack::SameAs<Forgetful> T>
auto Fields(T& s) {
  return std::tie(s.packed);
}

std::string Bytes(const Forgetful& value) {
  return pack::ToBytes(value);
}

}  // namespace agent_graph::state
