import {messagesOf, type Strings} from './cloudscape';

export const strings: Strings = {
	'alert': {
		'dismissAriaLabel': 'चेतावनी हटाएँ',
		'i18nStrings.successIconAriaLabel': 'सफल',
		'i18nStrings.errorIconAriaLabel': 'त्रुटि',
		'i18nStrings.warningIconAriaLabel': 'चेतावनी',
		'i18nStrings.infoIconAriaLabel': 'जानकारी',
		'i18nStrings.dismissAriaLabel': 'चेतावनी हटाएँ',
	},
	'app-layout': {
		'ariaLabels.drawers': 'पैनल',
		'ariaLabels.drawersOverflow': 'और पैनल',
		'ariaLabels.drawersOverflowWithBadge': 'और पैनल, चिह्न के साथ',
		'ariaLabels.navigation': 'पार्श्व नेविगेशन',
		'ariaLabels.navigationClose': 'पार्श्व नेविगेशन बंद करें',
		'ariaLabels.navigationToggle': 'पार्श्व नेविगेशन खोलें',
		'ariaLabels.notifications': 'सूचनाएँ',
		'ariaLabels.tools': 'सहायता पैनल',
		'ariaLabels.toolsClose': 'सहायता पैनल बंद करें',
		'ariaLabels.toolsToggle': 'सहायता पैनल खोलें',
	},
	'attribute-editor': {
		'removeButtonText': 'हटाएँ',
		'i18nStrings.itemRemovedAriaLive': 'प्रविष्टि हटाई गई',
	},
	'slider': {
		'i18nStrings.valueTextRange': '{value}, {previousValue} और {nextValue} के बीच',
	},
	'multiselect': {
		'deselectAriaLabel': '{option__label} हटाएँ',
		'i18nStrings.selectAllText': 'सभी चुनें',
	},
	'breadcrumb-group': {
		'expandAriaLabel': 'पथ दिखाएँ',
	},
	'button-dropdown': {
		'filteringResultsText': '{totalCount} में से {matchesCount} आइटम',
		'noMatch': 'कोई मेल खाती क्रिया नहीं',
		'i18nStrings.filteringItemAriaDescription': 'परिणाम छाँटने के लिए लिखते रहें।',
	},
	'button': {
		'i18nStrings.externalIconAriaLabel': 'नए टैब में खुलता है',
	},
	'copy-to-clipboard': {
		'i18nStrings.copyButtonText': 'कॉपी करें',
	},
	'error-boundary': {
		'i18nStrings.headerText': 'अनपेक्षित त्रुटि, सामग्री दिखाई नहीं जा सकी',
		'i18nStrings.descriptionText': 'फिर कोशिश करने के लिए पृष्ठ ताज़ा करें।',
		'i18nStrings.refreshActionText': 'पृष्ठ ताज़ा करें',
	},
	'flashbar': {
		'i18nStrings.ariaLabel': 'सूचनाएँ',
		'i18nStrings.errorIconAriaLabel': 'त्रुटि',
		'i18nStrings.inProgressIconAriaLabel': 'चल रहा है',
		'i18nStrings.infoIconAriaLabel': 'जानकारी',
		'i18nStrings.notificationBarAriaLabel': 'सभी सूचनाएँ',
		'i18nStrings.notificationBarText': 'सूचनाएँ',
		'i18nStrings.successIconAriaLabel': 'सफल',
		'i18nStrings.warningIconAriaLabel': 'चेतावनी',
	},
	'form-field': {
		'i18nStrings.errorIconAriaLabel': 'त्रुटि',
		'i18nStrings.warningIconAriaLabel': 'चेतावनी',
	},
	'form': {
		'errorIconAriaLabel': 'त्रुटि',
	},
	'help-panel': {
		'loadingText': 'सामग्री लोड हो रही है',
	},
	'input': {
		'clearAriaLabel': 'मिटाएँ',
	},
	'link': {
		'externalIconAriaLabel': 'नए टैब में खुलता है',
	},
	'modal': {
		'closeAriaLabel': 'संवाद बंद करें',
	},
	'pagination': {
		'ariaLabels.nextPageLabel': 'अगला पृष्ठ',
		'ariaLabels.pageLabel': 'पृष्ठ {pageNumber}',
		'ariaLabels.previousPageLabel': 'पिछला पृष्ठ',
		'ariaLabels.jumpToPageButtonLabel': 'पृष्ठ पर जाएँ',
		'i18nStrings.jumpToPageInputLabel': 'पृष्ठ',
		'i18nStrings.jumpToPageError': 'ऐसा पृष्ठ नहीं है। अंतिम उपलब्ध पृष्ठ दिख रहा है।',
		'i18nStrings.jumpToPageLoadingText': 'लोड हो रहा है',
		'i18nStrings.pagesCompactText': '{pagesCount} में से {currentPage}',
	},
	'select': {
		'errorIconAriaLabel': 'त्रुटि',
		'selectedAriaLabel': 'चुना हुआ',
		'recoveryText': 'फिर कोशिश करें',
	},
	'table': {
		'ariaLabels.resizerRoleDescription': 'आकार बदलने का बटन',
		'ariaLabels.submittingEditText': 'बदलाव भेजा जा रहा है',
		'ariaLabels.successfulEditLabel': 'बदलाव सफल',
		'ariaLabels.expandButtonLabel': 'फैलाएँ',
		'ariaLabels.collapseButtonLabel': 'समेटें',
		'columnDefinitions.editConfig.errorIconAriaLabel': 'त्रुटि',
		'columnDefinitions.editConfig.editIconAriaLabel': 'संपादन योग्य',
		'i18nStrings.sortDropdownSortAscending': 'बढ़ते क्रम में',
		'i18nStrings.sortDropdownSortDescending': 'घटते क्रम में',
		'i18nStrings.sortDropdownMultiColumnSortGroup': 'कई स्तंभों से क्रम (Shift + क्लिक)',
		'i18nStrings.sortDropdownAddToSortAscending': 'क्रम में जोड़ें (बढ़ता)',
		'i18nStrings.sortDropdownAddToSortDescending': 'क्रम में जोड़ें (घटता)',
		'i18nStrings.sortDropdownRemoveFromSort': 'क्रम से हटाएँ',
		'i18nStrings.sortDropdownAddToSortDisabledReason': 'यह स्तंभ पहले से क्रम में है',
		'i18nStrings.sortDropdownRemoveFromSortDisabledReason': 'यह स्तंभ क्रम में नहीं है',
		'i18nStrings.clearSort': 'क्रम मिटाएँ',
		'ariaLabels.sortAscending': 'बढ़ता',
		'ariaLabels.sortDescending': 'घटता',
		'ariaLabels.liveAnnouncementSortOrder': 'तालिका {columns} के क्रम में',
		'ariaLabels.liveAnnouncementSortCleared': 'क्रम मिटाया गया',
		'ariaLabels.sortPriority': 'क्रम प्राथमिकता {priority}',
		'ariaLabels.sortMenuTriggerLabel': 'क्रम के विकल्प',
	},
	'tabs': {
		'i18nStrings.scrollLeftAriaLabel': 'बाएँ स्क्रॉल करें',
		'i18nStrings.scrollRightAriaLabel': 'दाएँ स्क्रॉल करें',
		'i18nStrings.tabsWithActionsAriaRoleDescription': 'क्रियाओं वाले टैब',
	},
	'token-group': {
		'i18nStrings.limitShowFewer': 'कम दिखाएँ',
		'i18nStrings.limitShowMore': 'और दिखाएँ',
	},
	'top-navigation': {
		'i18nStrings.searchIconAriaLabel': 'खोजें',
		'i18nStrings.searchDismissIconAriaLabel': 'खोज बंद करें',
		'i18nStrings.overflowMenuTriggerText': 'और',
		'i18nStrings.overflowMenuDismissIconAriaLabel': 'मेनू बंद करें',
		'i18nStrings.overflowMenuBackIconAriaLabel': 'वापस',
		'i18nStrings.overflowMenuTitleText': 'सब',
	},
};

export default messagesOf('hi', strings);
