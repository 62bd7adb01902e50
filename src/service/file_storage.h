// Storage of uploaded files, as the settings configure it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "media/storage.h"
#include "settings/settings.h"

namespace agent_graph::runtime {
class Runtime;
}

namespace agent_graph::service {

// Creates the storage. `master` is the process id of nginx's master; files in memory are kept until
// it ends.
std::unique_ptr<media::Storage> MakeFileStorage(const settings::Settings& settings,
                                                const std::string& state_directory, int64_t master,
                                                runtime::Runtime& runtime);

// Deletes the files of a memory storage. Called when `master`, whose workers ran as `user`, ends.
void ForgetFiles(const settings::Settings& settings, const std::string& state_directory, uid_t user,
                 int64_t master);

// Path of the program that reads documents: agent-extract in the folder of the module. Empty if the
// folder cannot be determined.
std::string ExtractorProgram();

// Checks that `nginx -t` makes of the storage.
Status CheckFileStorage(const settings::Settings& settings);

}  // namespace agent_graph::service
