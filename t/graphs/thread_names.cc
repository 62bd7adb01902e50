// Functions that name threads, valid and invalid ones.
#include <agent_graph/agent_graph.h>

#include <agent_graph/json.h>
#include <stdexcept>

namespace {

std::string Count(const std::vector<std::string>& texts) {
  return std::to_string(texts.size()) + " texts, first: " + texts.at(0);
}

std::string Throw(const std::vector<std::string>&) {
  throw std::runtime_error("no idea");
}

}  // namespace

AGENT_GRAPH_EXPORT_THREAD_NAMES(counting, Count)
AGENT_GRAPH_EXPORT_THREAD_NAMES(throwing, Throw)
