/* SPDX-License-Identifier: Apache-2.0 */
/* The two OpenGL types that cudaGL.h names, so that its prototypes are read on a machine without OpenGL. */
#pragma once
typedef unsigned int GLenum;
typedef unsigned int GLuint;
#define GL_VERSION 0x1F02 /* asked for by cuda_gl_interop.h on Arm */
