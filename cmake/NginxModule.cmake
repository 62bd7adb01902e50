# ngx_http_agent_graph_module.so, built for one configured nginx.
#
#   NGINX_SOURCE_DIR   headers (src/core, src/http, …); default: Debian's nginx-dev, installed or
#                      unpacked by install-packages.sh
#   NGINX_OBJECT_DIR   output of that nginx's ./configure (ngx_auto_config.h); default: configured
#                      here with the options of Debian's package
#
# On demand it also builds:
#
#   agent_graph_for_nginx   the files that nginx's own build links (see config and config.make): one
#                           relocatable object of all code, and response files for the linker
#   agent_graph_parts       engine and src as one object, agent_graph_parts.o. They know no nginx, so
#                           modules for several nginx can share it: AGENT_GRAPH_PARTS=FILE uses it
#                           instead of compiling them again (see build-matrix.sh)
if(NOT TARGET src_service)
  return()
endif()

set(nginx_dev /usr/share/nginx/src)
if(NOT EXISTS ${nginx_dev})
  set(nginx_dev ${CMAKE_SOURCE_DIR}/build/nginx-dev/usr/share/nginx/src)
endif()
set(NGINX_SOURCE_DIR ${nginx_dev} CACHE PATH "nginx source tree (headers)")
set(NGINX_OBJECT_DIR "" CACHE PATH "objs directory of a configured nginx; empty: configure Debian's")
set(AGENT_GRAPH_PARTS "" CACHE FILEPATH "agent_graph_parts.o of another build; empty: compile all")

set(nginx_objects "${NGINX_OBJECT_DIR}")
if(NOT nginx_objects)
  set(nginx_objects ${CMAKE_BINARY_DIR}/nginx/objs)
  set(nginx_stamp ${CMAKE_BINARY_DIR}/nginx/configured)
  # Configures once per version of the package.
  file(STRINGS ${NGINX_SOURCE_DIR}/src/core/nginx.h nginx_version REGEX "define NGINX_VERSION ")
  set(nginx_configured "")
  if(EXISTS ${nginx_stamp})
    file(READ ${nginx_stamp} nginx_configured)
  endif()
  if(NOT nginx_configured STREQUAL nginx_version)
    message(STATUS "Configuring nginx's headers")
    execute_process(
      COMMAND ${CMAKE_SOURCE_DIR}/cmake/configure-nginx.sh ${NGINX_SOURCE_DIR}
              ${CMAKE_BINARY_DIR}/nginx
      OUTPUT_FILE ${CMAKE_BINARY_DIR}/configure-nginx.log
      ERROR_FILE ${CMAKE_BINARY_DIR}/configure-nginx.log
      RESULT_VARIABLE nginx_failed)
    if(nginx_failed)
      message(FATAL_ERROR "nginx's configure failed, see ${CMAKE_BINARY_DIR}/configure-nginx.log")
    endif()
    file(WRITE ${nginx_stamp} "${nginx_version}")
  endif()
endif()

set(nginx_include_dirs ${nginx_objects})
foreach(directory core event event/modules event/quic os/unix http http/modules http/v2 http/v3)
  if(IS_DIRECTORY ${NGINX_SOURCE_DIR}/src/${directory})
    list(APPEND nginx_include_dirs ${NGINX_SOURCE_DIR}/src/${directory})
  endif()
endforeach()

# One target, because all of it needs nginx's headers. The folders' edges are declared for the check
# of includes all the same; see Folder.cmake.
file(APPEND ${AGENT_GRAPH_EDGES} "\
ngx_module: engine/base src/settings
ngx_module/websocket: engine/base ngx_module src/websocket
ngx_module/status: engine/base engine/state ngx_module src/limits
ngx_module/request: engine/base ngx_module ngx_module/status src/api src/api/http src/auth src/bridge \
src/limits
ngx_module/worker: engine/base ngx_module ngx_module/request ngx_module/status ngx_module/websocket \
src/api/http src/bridge src/live src/service
ngx_module/process: engine/base engine/process ngx_module ngx_module/request ngx_module/status \
ngx_module/worker src/auth src/service
ngx_module/handlers: engine/base ngx_module ngx_module/process ngx_module/request ngx_module/status \
ngx_module/worker src/api src/api/http src/api/openapi src/api/resources src/settings src/websocket
ngx_module/config: engine/base ngx_module ngx_module/handlers ngx_module/request ngx_module/status \
src/service
ngx_module/module: engine/base ngx_module ngx_module/handlers ngx_module/process ngx_module/request
")
file(GLOB module_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ngx_module/*.cc
     ${CMAKE_SOURCE_DIR}/ngx_module/*/*.cc)
set(module_tables ${CMAKE_SOURCE_DIR}/ngx_module/module/modules.cc)
list(REMOVE_ITEM module_sources ${module_tables})
# Sanitizers bring their own operators new and delete.
set(module_operators ${CMAKE_SOURCE_DIR}/ngx_module/module/operator_new.cc)
if(AGENT_GRAPH_SANITIZER)
  list(REMOVE_ITEM module_sources ${module_operators})
endif()
agent_graph_object_library(ngx_module ${module_sources})
target_link_libraries(ngx_module PRIVATE agent_graph_flags agent_graph_strict)
target_include_directories(ngx_module PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/src
                           ${CMAKE_SOURCE_DIR}/engine ${CMAKE_SOURCE_DIR}/engine/include
                           ${CMAKE_BINARY_DIR}/generated)
target_include_directories(ngx_module SYSTEM PRIVATE ${nginx_include_dirs})
agent_graph_precompiled(ngx_module)

agent_graph_closure(shared_objects module_libraries src/service)
set(module_parts ${AGENT_GRAPH_PARTS})
if(NOT AGENT_GRAPH_PARTS)
  set(module_parts ${shared_objects})
  set(shared_parts ${CMAKE_BINARY_DIR}/agent_graph_parts.o)
  add_custom_command(OUTPUT ${shared_parts}
    COMMAND ${CMAKE_CXX_COMPILER} -r -nostdlib -o ${shared_parts} ${module_parts}
    DEPENDS ${module_parts} COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(agent_graph_parts DEPENDS ${shared_parts})
endif()
set(module_objects $<TARGET_OBJECTS:ngx_module> ${module_parts})

# nodelete: nginx unmaps modules at exit, but a background thread of a library may still run in
# them.
set(module_exports ${CMAKE_SOURCE_DIR}/ngx_module/module/exports.map)
set(module_link_options -Wl,-z,nodelete -Wl,-z,now -Wl,-z,relro)

add_library(ngx_http_agent_graph_module MODULE ${module_tables} ${module_objects})
target_include_directories(ngx_http_agent_graph_module PRIVATE ${CMAKE_SOURCE_DIR})
target_include_directories(ngx_http_agent_graph_module SYSTEM PRIVATE ${nginx_include_dirs})
target_link_libraries(ngx_http_agent_graph_module PRIVATE agent_graph_flags ${module_libraries})
target_link_options(ngx_http_agent_graph_module PRIVATE ${module_link_options}
                    -Wl,--version-script=${module_exports})
set_target_properties(ngx_http_agent_graph_module PROPERTIES PREFIX "" LINKER_LANGUAGE CXX
                      LINK_DEPENDS ${module_exports}
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

if(AGENT_GRAPH_TESTS)
  if(NOT AGENT_GRAPH_SANITIZER)
    agent_graph_unit_test(test_operator_new
      SOURCES ${CMAKE_SOURCE_DIR}/t/unit/ngx_module/module/operator_new_test.cc ${module_operators}
              ${CMAKE_SOURCE_DIR}/engine/base/allocation_account.cc)
    # Not with a sanitizer: it replaces functions of the C library, which this test does not allow.
    add_test(NAME module_symbols
             COMMAND ${CMAKE_SOURCE_DIR}/ngx_module/module/check-symbols.sh
                     $<TARGET_FILE:ngx_http_agent_graph_module>)
  endif()
  # Unit tests of the parts of the module that need no nginx, or a few of its functions only.
  set(module_tests ${CMAKE_SOURCE_DIR}/t/unit/ngx_module/request)
  agent_graph_unit_test(test_ngx_module FOLDERS engine/base src/bridge
    SOURCES ${module_tests}/base_path_test.cc ${module_tests}/fake_nginx.cc
            ${module_tests}/invariants_test.cc ${module_tests}/late_body_test.cc
            ${module_tests}/reply_writer_test.cc ${module_tests}/request_headers_test.cc
            ${CMAKE_SOURCE_DIR}/t/unit/ngx_module/status/status_rows_test.cc
            ${CMAKE_SOURCE_DIR}/t/unit/ngx_module/worker/port_test.cc
            ${CMAKE_SOURCE_DIR}/t/unit/ngx_module/worker/websocket_phase_test.cc
            ${CMAKE_SOURCE_DIR}/ngx_module/request/base_path.cc
            ${CMAKE_SOURCE_DIR}/ngx_module/request/reply_writer.cc
            ${CMAKE_SOURCE_DIR}/ngx_module/request/request_headers.cc
            ${CMAKE_SOURCE_DIR}/ngx_module/status/status_rows.cc
            ${CMAKE_SOURCE_DIR}/ngx_module/worker/port.cc)
  target_include_directories(test_ngx_module PRIVATE ${CMAKE_SOURCE_DIR})
  target_include_directories(test_ngx_module SYSTEM PRIVATE ${nginx_include_dirs})
endif()

# Files for nginx's own build, which links with the C driver: all code in one object, libraries as
# files.
set(module_relocatable ${CMAKE_BINARY_DIR}/agent_graph.o)
add_custom_command(OUTPUT ${module_relocatable}
  COMMAND ${CMAKE_CXX_COMPILER} -r -nostdlib -o ${module_relocatable} ${module_objects}
  DEPENDS ${module_objects} COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(agent_graph_for_nginx DEPENDS ${module_relocatable})

set(module_link_files "")
foreach(library ${module_libraries})
  if(TARGET ${library})
    list(APPEND module_link_files "\"$<TARGET_FILE:${library}>\"")
  else()
    list(APPEND module_link_files "-l${library}")
  endif()
endforeach()
list(APPEND module_link_files -lstdc++ -lm -pthread)
list(JOIN module_link_files " " module_link_files)
list(JOIN module_link_options " " module_link_flags)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/link-static.rsp
     CONTENT "\"${module_relocatable}\" ${module_link_files}\n")
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/link-dynamic.rsp
     CONTENT "\"${module_relocatable}\" ${module_link_flags} \"-Wl,--version-script=${module_exports}\" ${module_link_files}\n")
