/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
typedef void* EGLImageKHR;
typedef void* EGLStreamKHR;
typedef void* EGLSyncKHR;
