# SPDX-License-Identifier: Apache-2.0
#
# The installed package: headers, licence, and a CMake package and a pkg-config file that work from whatever prefix they
# are moved to.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/pmpp)

install(TARGETS pmpp_headers EXPORT pmpp-headers FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT pmpp-headers NAMESPACE pmpp:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/pmpp-config.cmake.in
                              ${PROJECT_BINARY_DIR}/pmpp-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pmpp-config-version.cmake COMPATIBILITY SameMinorVersion
                                 ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/pmpp-config.cmake ${PROJECT_BINARY_DIR}/pmpp-config-version.cmake
              ${CMAKE_CURRENT_LIST_DIR}/pmpp-targets.cmake DESTINATION ${package_dir})

set(pkgconfig_dir ${CMAKE_INSTALL_DATADIR}/pkgconfig)
if(IS_ABSOLUTE "${CMAKE_INSTALL_DATADIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  file(RELATIVE_PATH up /${pkgconfig_dir} /)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(pc_prefix "\${pcfiledir}/${up}")
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/pmpp.pc.in ${PROJECT_BINARY_DIR}/pmpp.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pmpp.pc DESTINATION ${pkgconfig_dir})

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_GENERATOR TGZ DEB)
  set(CPACK_PACKAGE_NAME pmpp)
  set(CPACK_PACKAGE_VENDOR pmpp)
  set(CPACK_PACKAGE_CONTACT "the pmpp developers")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
  set(CPACK_PACKAGE_FILE_NAME pmpp-${PROJECT_VERSION})
  set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
  set(CPACK_DEBIAN_FILE_NAME pmpp-dev_${PROJECT_VERSION}_all.deb)
  set(CPACK_DEBIAN_PACKAGE_NAME pmpp-dev)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
  set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "g++ (>= 4:12), libboost-context-dev")
  include(CPack)
endif()
