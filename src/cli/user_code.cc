#include "cli/user_code.h"

#include <unistd.h>

#include <cstddef>
#include <cstdio>

#include "service/trial.h"

namespace agent_graph::cli {
namespace {

constexpr size_t kTextBytesMax = 16UL * 1024 * 1024;

}  // namespace

Result<std::string> WithUserCode(const std::string& graph,
                                 const std::function<Result<std::string>()>& function) {
  // The child must not inherit text that is not written yet.
  std::fflush(nullptr);
  return service::TryInChild({.graph = graph, .bytes_max = kTextBytesMax, .function = [&](int&) {
                                dup2(STDERR_FILENO, STDOUT_FILENO);
                                Result<std::string> result = function();
                                std::fflush(nullptr);
                                return result;
                              }});
}

}  // namespace agent_graph::cli
