// The files that `agent-graph init` writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace agent_graph::cli {

// The advice for a folder that lacks some of them.
inline constexpr char kInitAdvice[] = "`agent-graph init DIRECTORY` makes a folder with everything";

struct TemplateFile {
  std::string_view name;
  std::string_view content;
};

// The files of an agent in JSON, or in C++.
std::vector<TemplateFile> AgentTemplate(bool cpp);

}  // namespace agent_graph::cli
