// SPDX-License-Identifier: Apache-2.0
// A library of which only the name matters.
