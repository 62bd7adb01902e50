#include "admin/import_command.h"

#include "admin/agentflow_import.h"
#include "admin/database.h"
#include "admin/import.h"
#include "admin/state_access.h"
#include "state/postgres/database/url.h"

namespace agent_graph::admin {
namespace {

void ShowImported(const ImportedThreads& imported, std::FILE* out) {
  std::fprintf(out, "%llu threads\n%llu states\n%llu messages\n", Number(imported.threads),
               Number(imported.states), Number(imported.messages));
  if (imported.earlier > 0) {
    std::fprintf(out, "%llu threads were imported before\n", Number(imported.earlier));
  }
  if (imported.file_references > 0) {
    std::fprintf(out, "%llu messages name files, which AgentFlow keeps outside of its database\n",
                 Number(imported.file_references));
  }
  if (imported.found.tool_results > 0) {
    std::fprintf(
        out, "%llu results of tools were not imported: AgentFlow keeps them only to repeat runs\n",
        Number(imported.found.tool_results));
  }
}

}  // namespace

int RunLevelImport(const std::string& directory, const std::string& database,
                   const Output& output) {
  const Result<std::string> url = DatabaseUrlOf(database);
  if (!url.ok()) return Fail(output, url.status());
  const Result<StateAccess> state = StateAccess::Open(directory);
  if (!state.ok()) return Fail(output, state.status());
  const auto imported = ImportState(*state, state->directory().path() + "/uploads", *url);
  if (!imported.ok()) return Fail(output, imported.status());
  std::FILE* const out = output.out;
  if (imported->earlier) std::fputs("the rows were imported before\n", out);
  for (const auto& kind : imported->kinds) {
    std::fprintf(out, "%llu %s\n", Number(kind.stored), kind.name);
  }
  std::fprintf(out, "%llu files\n", Number(imported->files));
  return 0;
}

int RunAgentFlowImport(const std::string& url, const std::string& target, const Output& output) {
  if (!state::postgres::IsConnectionUrl(url)) {
    return Fail(output, InvalidArgument("the source must be a URL: postgresql://..."));
  }
  const auto imported = ImportAgentFlow(url, target, [&](const std::string& line) {
    std::fprintf(output.out, "%s\n", line.c_str());
  });
  if (!imported.ok()) return Fail(output, imported.status());
  ShowImported(*imported, output.out);
  return imported->problems == 0 ? 0 : 1;
}

}  // namespace agent_graph::admin
