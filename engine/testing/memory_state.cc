#include "testing/memory_state.h"

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "state/factory/factory.h"

namespace agent_graph::graph_test {
namespace {

std::string MakeTemporaryFolder() {
  std::string folder = (std::filesystem::temp_directory_path() / "agent-graph-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error(folder + ": cannot be created");
  return folder;
}

}  // namespace

MemoryState::MemoryState() : directory_(MakeTemporaryFolder()) {
  state::StateOptions options;
  options.type = "memory";
  options.directory = directory_;
  Result<std::unique_ptr<state::StateServer>> server = state::StartStateServer(options);
  if (!server.ok()) throw std::runtime_error(server.status().message());
  server_ = *std::move(server);
  backend_ = state::MakeBackend(options);
  const Status started = backend_->Start();
  if (!started.ok()) throw std::runtime_error(started.message());
}

MemoryState::~MemoryState() {
  if (backend_) backend_->Stop();
  backend_.reset();
  server_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

}  // namespace agent_graph::graph_test
