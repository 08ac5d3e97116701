//! A call of the admin API, and the output of its response.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use reqwest::header::{CONTENT_TYPE, HeaderValue, IF_MATCH};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;

use crate::cli::api::arguments::parsed;
use crate::cli::api::arguments::parsed::{Paging, ParsedArguments, Payload};
use crate::cli::api::document::Operation;
use crate::cli::api::listing::{Listing, Page};
use crate::cli::api::show::OutputFormat;
use assent_admin_client::connection::Api;
use assent_admin_client::error::{CommandError, ErrorKind};
use assent_admin_client::terminal;
use assent_model::entropy::SystemEntropy;
use assent_model::secret::Secret;

/// The maximum number of items on a page.
const PAGE: u32 = 200;

/// The header of a request that can be repeated.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

fn is_unreachable(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<CommandError>();
    error.is_some_and(|error| error.kind == ErrorKind::Unreachable)
}

/// An operation with its target.
pub(super) struct OperationCall<'a> {
    pub(super) api: Api,
    pub(super) operation: &'a Operation,
    pub(super) arguments: ParsedArguments,
}

impl OperationCall<'_> {
    /// Returns the segments of the path, with the arguments in place of the parameters.
    fn parts(&self) -> Vec<String> {
        let mut arguments = self.arguments.path.iter();
        let parts = self
            .operation
            .path
            .split('/')
            .filter(|part| !part.is_empty());
        parts
            .map(|part| match part.starts_with('{') {
                true => arguments.next().cloned().unwrap_or_default(),
                false => part.to_owned(),
            })
            .collect()
    }

    fn request(&self, query: &[(String, String)]) -> RequestBuilder {
        let request = self
            .api
            .request(self.operation.method.clone(), &self.parts(), query);
        match &self.arguments.body {
            Some(Payload::Json(members)) => request.json(members),
            Some(Payload::Raw(kind, bytes)) => {
                request.header(CONTENT_TYPE, kind).body(bytes.clone())
            }
            None => request,
        }
    }

    pub(super) async fn send(&self, request: RequestBuilder) -> anyhow::Result<Response> {
        let members = self.operation.members();
        let flag = |name: &str| {
            let known = members.iter().find(|member| member.name == name);
            known.map(|member| parsed::flag(member, members))
        };
        self.api.send(request, flag).await
    }

    /// Sends the request, for this version. A POST has an idempotency key, so it is sent again if the connection broke:
    /// the server executes it once.
    pub(super) async fn execute(&self, version: Option<HeaderValue>) -> anyhow::Result<Response> {
        let request = self.request(&self.arguments.query);
        let request = match version {
            Some(version) => request.header(IF_MATCH, version),
            None => request,
        };
        if self.operation.method != Method::POST {
            return self.send(request).await;
        }
        let key = Secret::random(&SystemEntropy);
        let request = request.header(IDEMPOTENCY_KEY, key.expose());
        let again = request.try_clone();
        match (self.send(request).await, again) {
            (Err(error), Some(again)) if is_unreachable(&error) => self.send(again).await,
            (outcome, _) => outcome,
        }
    }

    /// Reads the target of a change or deletion, and asks for a confirmation if it is necessary. The change then
    /// applies only to the version that was read.
    pub(super) async fn read_and_confirm(&self) -> anyhow::Result<Option<HeaderValue>> {
        // A PUT may create an object that does not exist yet.
        let is_known = self.operation.is_versioned && self.operation.method != Method::PUT;
        let (found, version) = match is_known {
            true => self.api.read(&self.parts(), &[]).await?,
            false => (Value::Null, None),
        };
        if self.operation.is_irreversible && !self.arguments.yes {
            let word = found.get("name").and_then(Value::as_str).unwrap_or("yes");
            terminal::confirm(&self.operation.summary, word)?;
        }
        Ok(version)
    }

    /// Prints a list, page by page.
    pub(super) async fn pages(&self, paging: &Paging, form: OutputFormat) -> anyhow::Result<()> {
        let mut listing = Listing::new(&self.operation.answer, form);
        let mut left = if paging.all {
            u64::MAX
        } else {
            paging.limit.into()
        };
        let mut after = paging.after.clone();
        loop {
            let mut query = self.arguments.query.clone();
            query.push(("limit".to_owned(), left.min(PAGE.into()).to_string()));
            query.extend(after.map(|after| ("after".to_owned(), after)));
            let bytes = self
                .api
                .bytes(self.send(self.request(&query)).await?)
                .await?;
            let page: Page<'_> = self.api.parse(&bytes)?;
            left = left.saturating_sub(page.len() as u64);
            let is_last = page.next.is_none() || left == 0;
            listing.page(&page, &bytes, is_last)?;
            after = page.next;
            if is_last {
                return listing.end(after.as_deref());
            }
        }
    }
}

/// Writes a response that is not JSON to a file or to standard output.
pub(super) async fn save(call: &OperationCall<'_>, mut answer: Response) -> anyhow::Result<()> {
    let mut out = call
        .arguments
        .out
        .as_deref()
        .map(PrivateFile::beside)
        .transpose()?;
    let steers = out.is_none() && std::io::stdout().is_terminal();
    while let Some(chunk) = answer
        .chunk()
        .await
        .map_err(|error| call.api.unreachable(&error))?
    {
        match &mut out {
            Some(out) => out.write(&chunk)?,
            None if steers => {
                terminal::print(&assent_model::printable::lines(&String::from_utf8_lossy(
                    &chunk,
                )))?;
            }
            None => terminal::print_bytes(&chunk)?,
        }
    }
    out.map_or(Ok(()), PrivateFile::finish)
}

/// A file that may contain personal data, readable only by its owner. The content goes to a new file in the same
/// folder, which replaces the destination when it is complete. An existing file is never overwritten in place,
/// independent of its permissions, and no link is followed.
pub(super) struct PrivateFile {
    pub(super) file: File,
    /// The path of the incomplete file; `None` if the destination is not a regular file, such as a terminal.
    pub(super) part: Option<PathBuf>,
    pub(super) path: PathBuf,
}

impl PrivateFile {
    pub(super) fn beside(path: &Path) -> anyhow::Result<Self> {
        let failure =
            |why: &dyn Display| CommandError::usage(format!("--out {}: {why}", path.display()));
        let there = std::fs::symlink_metadata(path)
            .ok()
            .map(|there| there.file_type());
        let part = match there {
            Some(there) if there.is_symlink() => {
                return Err(failure(&"it is a symbolic link; specify the file itself"));
            }
            Some(there) if !there.is_file() => None,
            _ => {
                let name = path
                    .file_name()
                    .ok_or_else(|| failure(&"it specifies no file"))?
                    .to_string_lossy();
                Some(path.with_file_name(format!(".{name}.{}.part", std::process::id())))
            }
        };
        let opened = match &part {
            Some(part) => OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(part),
            None => OpenOptions::new().write(true).open(path),
        };
        let file = opened.map_err(|error| failure(&error))?;
        Ok(Self {
            file,
            part,
            path: path.to_owned(),
        })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.file
            .write_all(bytes)
            .with_context(|| self.path.display().to_string())
    }

    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        if let Some(part) = self.part.take() {
            let moved = self
                .file
                .sync_all()
                .and_then(|()| std::fs::rename(&part, &self.path));
            if moved.is_err() {
                self.part = Some(part);
            }
            moved.with_context(|| self.path.display().to_string())?;
        }
        Ok(())
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            // The file is incomplete. A failure to remove it could not be reported.
            let _ = std::fs::remove_file(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_file_is_private_and_replaced_only_as_a_whole() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().expect("a folder");
        let (path, link) = (folder.path().join("people.csv"), folder.path().join("link"));
        std::fs::write(&path, "before").expect("written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).expect("set");
        let mut reader = File::open(&path).expect("opened");
        let mut out = PrivateFile::beside(&path).expect("a file");
        out.write(b"half").expect("written");
        drop(out);
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "before");

        let mut out = PrivateFile::beside(&path).expect("a file");
        out.write(b"whole").expect("written");
        out.finish().expect("in its place");
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "whole");
        assert_eq!(
            std::fs::metadata(&path)
                .expect("metadata")
                .permissions()
                .mode()
                & 0o777,
            0o600
        );
        assert_eq!(
            std::io::read_to_string(&mut reader).expect("read"),
            "before",
            "an open reader still sees the old content"
        );
        assert_eq!(
            std::fs::read_dir(folder.path()).expect("read").count(),
            1,
            "no other file is left in the folder"
        );

        symlink(&path, &link).expect("a link");
        assert!(PrivateFile::beside(&link).is_err());
        let mut nowhere = PrivateFile::beside(Path::new("/dev/null")).expect("a device");
        nowhere.write(b"x").expect("written");
        nowhere.finish().expect("written");
    }
}
