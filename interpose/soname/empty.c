/* SPDX-License-Identifier: Apache-2.0 */
/* For libraries that are nothing but a name and what they need. */
typedef int tidemark_nothing;
