#include "service/validation.h"

#include "api/routes.h"
#include "auth/guard.h"
#include "limits/shared_places.h"
#include "limits/shared_rate.h"
#include "limits/user_tokens.h"
#include "service/agent.h"
#include "service/file_storage.h"
#include "service/settings_checks.h"

namespace agent_graph::service {

Status Validate(const settings::Settings& settings) {
  AG_RETURN_IF_ERROR(api::CheckRouteGuards());
  AG_RETURN_IF_ERROR(api::CheckFacadePaths(settings.facades));
  AG_RETURN_IF_ERROR(CheckDatabase(settings));
  AG_RETURN_IF_ERROR(CheckFileStorage(settings));
  AG_RETURN_IF_ERROR(CheckTrustedCertificates(settings));
  AG_RETURN_IF_ERROR(BuildAgent(settings, nullptr).status());
  if (settings.rate_limit) {
    AG_RETURN_IF_ERROR(limits::SharedRate::Create(*settings.rate_limit, {}).status());
  }
  if (settings.token_limit) {
    AG_RETURN_IF_ERROR(limits::UserTokens::Create(*settings.token_limit, nullptr, {}).status());
  }
  AG_RETURN_IF_ERROR(limits::SharedPlaces::Create(settings.websocket.total, {}).status());
  return auth::Guard::Create(settings, {}).status();
}

}  // namespace agent_graph::service
