// Package listwatch lists objects and then watches them without losing any unnoticed.
//
// [Run] resumes a watch that closed from the version it had reached, which loses nothing, and starts again from a list where the API server no
// longer knows that version, which may lose something and is therefore told to the caller. client-go has two such loops; its informers skip
// intermediate states without a word, and its RetryWatcher asks forever where the version is gone.
//
// Left out on purpose: a cache. Callers keep what they need.
package listwatch
