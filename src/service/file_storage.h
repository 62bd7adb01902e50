// The storage of uploaded files that the settings ask for.
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

// `master` is nginx's master process, with which files in memory end.
std::unique_ptr<media::Storage> MakeFileStorage(const settings::Settings& settings,
                                                const std::string& state_directory, int64_t master,
                                                runtime::Runtime& runtime);

// What a storage in memory holds goes when `master`, whose workers ran as `user`, ends.
void ForgetFiles(const settings::Settings& settings, const std::string& state_directory, uid_t user,
                 int64_t master);

// The program that reads documents: agent-extract in the folder of the module.
std::string ExtractorProgram();

// What `nginx -t` can tell about it.
Status CheckFileStorage(const settings::Settings& settings);

}  // namespace agent_graph::service
