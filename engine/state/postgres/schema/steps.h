// The steps that make the tables of the service, in the SQL schema agent_graph. Statements name the
// tables in full, so that they do not depend on settings of the session.
//
// A step that is part of a release is never changed: a later step changes its tables. Two adjacent
// versions of the service work side by side during an upgrade, so a step keeps what the version
// before needs, or its `usable_from` says from which step on a build can use the result.
#pragma once

#include <span>

namespace agent_graph::state::postgres {

struct SchemaStep {
  int number = 0;
  // Builds whose latest step is at least this one work with the tables after this step.
  int usable_from = 0;
  const char* name = nullptr;
  const char* script = nullptr;  // SQL without parameters; runs in a transaction of its own
};

// In the order of their numbers, which begin at 1 and have no gap.
std::span<const SchemaStep> SchemaSteps();

extern const char kInstancesStep[];
extern const char kRowsStep[];
extern const char kMemoriesStep[];
extern const char kFilesStep[];
extern const char kVersionsStep[];
extern const char kRestoresStep[];
extern const char kImportsStep[];
extern const char kFileSizesStep[];

}  // namespace agent_graph::state::postgres
