# The files that `make install` installs and the Debian packages contain. Below the prefix:
#
#   bin/                    agent-graph-admin and the other programs
#   include/agent_graph/    headers for graphs in C++, with share/pkgconfig and share/cmake
#   lib/agent-graph/        the script of the backup timer, the library for tests of graphs
#   lib/systemd/system/     the backup timer
#   share/agent-graph/      JSON Schemas, samples, and the viewers of /docs and Studio if `make docs ui` has
#                           fetched and built them
#   share/doc/agent-graph/  documents
#   share/man/              manual pages of the programs
#
# The module and agent-extract, which must be in one folder, go to nginx's own folder of modules.

# nginx's configure has recorded its options.
if(NOT AGENT_GRAPH_MODULES_DIR)
  set(modules_dir /usr/lib/nginx/modules)
  if(EXISTS "${nginx_objects}/ngx_auto_config.h")
    file(STRINGS ${nginx_objects}/ngx_auto_config.h nginx_options REGEX "define NGX_CONFIGURE ")
    file(STRINGS ${nginx_objects}/ngx_auto_config.h nginx_prefix REGEX "define NGX_PREFIX ")
    if(nginx_options MATCHES "--modules-path=([^ \"]+)")
      set(modules_dir ${CMAKE_MATCH_1})
    elseif(nginx_prefix MATCHES "NGX_PREFIX +\"([^\"]+)\"")
      string(REGEX REPLACE "/+$" "" modules_dir ${CMAKE_MATCH_1})
      string(APPEND modules_dir /modules)
    endif()
  endif()
  set(AGENT_GRAPH_MODULES_DIR ${modules_dir} CACHE PATH
      "Folder for the module, by default that of the nginx for which it is built")
endif()
set(AGENT_GRAPH_DOCUMENTS_DIR share/doc/agent-graph CACHE STRING
    "Folder for documents, relative to the prefix")

if(TARGET ngx_http_agent_graph_module)
  # A running nginx has mapped the module. CMake may write into an existing file, which would crash
  # that nginx, so the name is freed first.
  foreach(name ngx_http_agent_graph_module.so agent-extract)
    install(CODE "file(REMOVE \"\$ENV{DESTDIR}${AGENT_GRAPH_MODULES_DIR}/${name}\")" COMPONENT module)
  endforeach()
  install(TARGETS ngx_http_agent_graph_module LIBRARY DESTINATION ${AGENT_GRAPH_MODULES_DIR}
          COMPONENT module)
  install(TARGETS agent_extract RUNTIME DESTINATION ${AGENT_GRAPH_MODULES_DIR} COMPONENT module)
endif()

foreach(program agent-graph-admin agent-graph)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION bin COMPONENT tools)
    install(FILES ${CMAKE_SOURCE_DIR}/packaging/man/${program}.1 DESTINATION share/man/man1
            COMPONENT tools OPTIONAL)
  endif()
endforeach()
install(PROGRAMS ${CMAKE_SOURCE_DIR}/packaging/systemd/back-up-and-prune
        DESTINATION lib/agent-graph COMPONENT tools)
# The unit names the script by its path, so it is written when the prefix is known.
install(CODE "
  set(prefix \"\${CMAKE_INSTALL_PREFIX}\")
  set(version ${PROJECT_VERSION})
  configure_file(${CMAKE_SOURCE_DIR}/packaging/systemd/agent-graph-backup@.service.in
                 ${CMAKE_BINARY_DIR}/packaging/agent-graph-backup@.service @ONLY)
  configure_file(${CMAKE_SOURCE_DIR}/packaging/sdk/agent-graph.pc.in
                 ${CMAKE_BINARY_DIR}/packaging/agent-graph.pc @ONLY)
  configure_file(${CMAKE_SOURCE_DIR}/packaging/sdk/agent-graph-testing.pc.in
                 ${CMAKE_BINARY_DIR}/packaging/agent-graph-testing.pc @ONLY)" ALL_COMPONENTS)
install(FILES ${CMAKE_BINARY_DIR}/packaging/agent-graph-backup@.service
              ${CMAKE_SOURCE_DIR}/packaging/systemd/agent-graph-backup@.timer
        DESTINATION lib/systemd/system COMPONENT tools)

# The headers and the schemas are installed by SampleGraphs.cmake, which builds samples with them.
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/packaging/agent-graph-config-version.cmake
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_SOURCE_DIR}/packaging/sdk/agent-graph-config.cmake
              ${CMAKE_BINARY_DIR}/packaging/agent-graph-config-version.cmake
        DESTINATION share/cmake/agent-graph COMPONENT development)
install(FILES ${CMAKE_BINARY_DIR}/packaging/agent-graph.pc DESTINATION share/pkgconfig
        COMPONENT development)
if(TARGET agent_graph_testing)
  install(TARGETS agent_graph_testing LIBRARY DESTINATION lib/agent-graph COMPONENT development)
  install(FILES ${CMAKE_BINARY_DIR}/packaging/agent-graph-testing.pc DESTINATION share/pkgconfig
          COMPONENT development)
endif()

install(DIRECTORY ${CMAKE_SOURCE_DIR}/build/docs/ DESTINATION share/agent-graph/docs
        COMPONENT documents OPTIONAL PATTERN installed EXCLUDE)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/build/ui/ DESTINATION share/agent-graph/ui
        COMPONENT documents OPTIONAL)
file(GLOB documents CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.md ${CMAKE_SOURCE_DIR}/docs/*.png)
install(FILES ${documents} DESTINATION ${AGENT_GRAPH_DOCUMENTS_DIR}/docs COMPONENT documents)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md
              ${CMAKE_SOURCE_DIR}/CONTRIBUTING.md ${CMAKE_SOURCE_DIR}/LICENSE
              ${CMAKE_SOURCE_DIR}/NOTICE ${CMAKE_SOURCE_DIR}/SECURITY.md
        DESTINATION ${AGENT_GRAPH_DOCUMENTS_DIR} COMPONENT documents)
# Not below share/doc, which small images of Debian leave out. The documents name the samples as ../conf/…
install(DIRECTORY ${CMAKE_SOURCE_DIR}/conf DESTINATION share/agent-graph
        COMPONENT documents PATTERN run.sh EXCLUDE PATTERN .clang-tidy EXCLUDE)
file(RELATIVE_PATH samples /prefix/${AGENT_GRAPH_DOCUMENTS_DIR} /prefix/share/agent-graph/conf)
file(CREATE_LINK ${samples} ${CMAKE_BINARY_DIR}/packaging/conf SYMBOLIC)
# Earlier versions have a folder there, which a link does not replace.
install(CODE "file(REMOVE_RECURSE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${AGENT_GRAPH_DOCUMENTS_DIR}/conf\")"
        COMPONENT documents)
install(FILES ${CMAKE_BINARY_DIR}/packaging/conf DESTINATION ${AGENT_GRAPH_DOCUMENTS_DIR}
        COMPONENT documents)
foreach(folder systemd grafana prometheus)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/packaging/${folder}
          DESTINATION ${AGENT_GRAPH_DOCUMENTS_DIR}/examples COMPONENT documents OPTIONAL
          PATTERN "*.in" EXCLUDE PATTERN back-up-and-prune EXCLUDE)
endforeach()
